"""What the full-text index of every engine gets of a text."""

IndexEntry = dict[str, int | str]
"""`key`, `norm` (normalized text) and `tags`."""
