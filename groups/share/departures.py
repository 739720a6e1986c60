"""Members of share groups that left, or lost their connection, for a while: what became of their records."""

from __future__ import annotations

from typing import Final

from groups.share.sessions import SessionKey

KEPT_MS: Final = 600_000
"""The time for which a member is remembered, as lost consumers are."""

KEPT_MAX: Final = 1_000
"""The members that are remembered, of all groups; 200 bytes each."""


class Departure:
    """The end of a member's share session."""

    __slots__ = ("left_ms", "returned")

    def __init__(self, left_ms: int) -> None:
        self.left_ms = left_ms
        # The records that it had, and which were taken back; they are counted one partition after the other.
        self.returned = 0


class Departures:
    """The sessions that have ended, the newest last."""

    __slots__ = ("_by_member",)

    def __init__(self) -> None:
        self._by_member: dict[SessionKey, Departure] = {}

    def note(self, member: SessionKey, now_ms: int) -> Departure:
        """Remember that a session has ended; the records taken back are to be counted in what is returned."""
        self._forget(now_ms)
        self._by_member.pop(member, None)
        departure = self._by_member[member] = Departure(now_ms)
        return departure

    def of_group(self, group_id: str, now_ms: int) -> dict[str, Departure]:
        """Return the departures of a group by member."""
        self._forget(now_ms)
        return {
            member.member_id: departure
            for member, departure in self._by_member.items()
            if member.group_id == group_id
        }

    def _forget(self, now_ms: int) -> None:
        while self._by_member:
            oldest = next(iter(self._by_member))
            is_old = self._by_member[oldest].left_ms <= now_ms - KEPT_MS
            if not is_old and len(self._by_member) < KEPT_MAX:
                return
            del self._by_member[oldest]
