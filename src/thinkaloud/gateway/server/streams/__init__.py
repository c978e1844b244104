"""Streams of the entries of a turn to readers, live or replayed."""
