"""Records of groups that cannot be read: what a client wrote into the topic by hand, or a later version.

The group is refused, so that nothing of it is lost; the other groups of its partition are served. Deleting
the group deletes these records, too.
"""

from __future__ import annotations

from typing import Final

KEYS_MAX: Final = 1_000
"""The most records of a group that are kept for its deletion; the next start finds those that are left."""


class MisreadRecords:
    """The keys of records whose values cannot be read, by group."""

    __slots__ = ("_groups",)

    def __init__(self) -> None:
        self._groups: dict[str, tuple[int, dict[bytes, None]]] = {}

    def note(self, partition: int, group_id: str, key: bytes) -> None:
        """Note a record."""
        _, keys = self._groups.setdefault(group_id, (partition, {}))
        if len(keys) < KEYS_MAX:
            keys[key] = None

    def forget_key(self, group_id: str, key: bytes | memoryview) -> None:
        """Forget a record that a later one of the same key replaces; the group must have some."""
        keys = self._groups[group_id][1]
        keys.pop(bytes(key), None)
        if not keys:
            del self._groups[group_id]

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._groups

    def keys_of(self, group_id: str) -> list[bytes]:
        """Return the keys of a group's records."""
        return list(self._groups[group_id][1]) if group_id in self._groups else []

    def are_in(self, partition: int) -> bool:
        """Whether any of them is in the partition: then its state is not all that its records say."""
        return any(found == partition for found, _ in self._groups.values())

    def forget(self, group_id: str) -> None:
        """Forget a group's records: they are deleted."""
        self._groups.pop(group_id, None)

    def forget_partition(self, partition: int) -> None:
        """Forget the records of a partition that is unloaded."""
        for group_id in [name for name, (found, _) in self._groups.items() if found == partition]:
            del self._groups[group_id]
