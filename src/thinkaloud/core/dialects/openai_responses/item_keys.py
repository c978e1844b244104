"""Finds the items of a response: not every server sends their index, and not every server keeps their id."""


class ItemKeys:
    """Finds the key of an item by its id or its index; keys are numbers in order of arrival."""

    def __init__(self) -> None:
        self._key_by_id: dict[str, int] = {}
        self._key_by_index: dict[int, int] = {}
        self._finished_keys: set[int] = set()
        self._id_by_key: dict[int, str | None] = {}
        self._matched_keys: set[int] = set()
        self._count = 0

    def start(self, item_id: str | None, index: int | None) -> int:
        """Return a new key for an item that starts now, or its key if it has started."""
        key = self._key_by_id.get(item_id or "")
        return self._add(item_id, index) if key is None or key in self._finished_keys else key

    def find(self, item_id: str | None, index: int | None) -> int:
        """Return the key of an item: by its id, its index, or else the latest; a new item gets a new key.

        Some servers name the id of an item only in its deltas: an unknown id is that of the latest item, if
        that is not finished and has none.
        """
        key = self._key_by_id.get(item_id or "")
        if key is None and index is not None:
            key = self._key_by_index.get(index)
            if item_id and key in self._finished_keys:
                key = None  # another item with the same index
        elif key is None and self._count and (not item_id or self._nameless(self._count - 1)):
            key = self._count - 1
        if key is None:
            return self._add(item_id, index)
        if item_id:
            self._key_by_id[item_id] = key
            self._id_by_key[key] = self._id_by_key[key] or item_id
        return key

    def _nameless(self, key: int) -> bool:
        return self._id_by_key[key] is None and key not in self._finished_keys

    def finish(self, key: int) -> None:
        """Mark an item as finished."""
        self._finished_keys.add(key)

    def match(self, item_id: str | None, position: int) -> int:
        """Return the key of an item of the final response, by its position and id; each key matches once.

        Ids may repeat within a response, and positions may differ from the order of arrival.
        """
        at_position = self._key_by_index.get(position)
        same_id = at_position is not None and self._id_by_key.get(at_position) == item_id
        by_id = self._key_by_id.get(item_id or "")
        for key in (at_position, by_id) if same_id else (by_id, at_position):
            if key is not None and key not in self._matched_keys:
                break
        else:
            key = self._add(item_id, position)
        self._matched_keys.add(key)
        return key

    def _add(self, item_id: str | None, index: int | None) -> int:
        key = self._count
        self._count += 1
        self._key_by_index[key if index is None else index] = key
        self._id_by_key[key] = item_id
        if item_id:
            self._key_by_id[item_id] = key
        return key
