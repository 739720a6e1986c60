"""Keys of offsets by their groups and by their topics, to be found without a look at all of them."""

from __future__ import annotations

from collections.abc import Collection

from groups.record_keys import OffsetKey

_Named = dict[str, dict[OffsetKey, None]]


class KeyIndex:
    """A set of keys, by either name."""

    __slots__ = ("_groups", "_topics")

    def __init__(self) -> None:
        self._groups: _Named = {}
        self._topics: _Named = {}

    def add(self, key: OffsetKey) -> None:
        """Add a key, unless it is there."""
        self._groups.setdefault(key.group_id, {})[key] = None
        self._topics.setdefault(key.topic, {})[key] = None

    def remove(self, key: OffsetKey) -> None:
        """Remove a key, if it is there."""
        for table, name in ((self._groups, key.group_id), (self._topics, key.topic)):
            keys = table.get(name)
            if keys is not None and key in keys:
                del keys[key]
                if not keys:
                    del table[name]

    def of_group(self, group_id: str) -> Collection[OffsetKey]:
        """Return the keys of a group."""
        return self._groups.get(group_id, {}).keys()

    def of_topic(self, topic: str) -> Collection[OffsetKey]:
        """Return the keys of a topic."""
        return self._topics.get(topic, {}).keys()
