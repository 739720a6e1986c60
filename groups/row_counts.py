"""The records that commits have passed since the start, as TDengine counts the rows consumed."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from groups.record_keys import OffsetKey

_ROWS_MAX: Final = 2**63 - 1
"""The greatest count of rows that an answer has room for; commits to and fro between extremes pass it."""


class Rows(NamedTuple):
    """The records that commits have passed in one partition, and since when they are counted."""

    records: int
    since_ms: int
    """The time of the first commit since the start of the server, in ms since 1970; 0: there was none."""


NO_ROWS: Final = Rows(0, 0)


class RowCounts:
    """The rows of all groups, by topic and partition."""

    __slots__ = ("_fresh", "_rows")

    def __init__(self) -> None:
        self._rows: dict[str, dict[tuple[str, int], Rows]] = {}
        # The rows of a partition of which nothing has been passed yet, shared by all that begin at one time.
        self._fresh = NO_ROWS

    def count(self, key: OffsetKey, count: int, now_ms: int) -> None:
        """Count as consumed what lies between two commits; `now_ms` is the time of day."""
        rows = self._rows.setdefault(key.group_id, {})
        place = (key.topic, key.partition)
        before = rows.get(place)
        if before is None:
            if self._fresh.since_ms != now_ms:
                self._fresh = Rows(0, now_ms)
            before = rows[place] = self._fresh
        if count:
            rows[place] = before._replace(records=min(before.records + count, _ROWS_MAX))

    def get(self, group_id: str, topic: str, partition: int) -> Rows:
        """Return how many records commits have passed since the server started; it never decreases."""
        return self._rows.get(group_id, {}).get((topic, partition), NO_ROWS)

    def forget(self, key: OffsetKey) -> None:
        """Begin anew in a partition, as the group's offset was deleted."""
        rows = self._rows.get(key.group_id)
        if rows is not None and rows.pop((key.topic, key.partition), None) is not None and not rows:
            del self._rows[key.group_id]

    def table(self) -> dict[str, Any]:
        """Return what holds them, to be emptied when they are of no use any more."""
        return self._rows
