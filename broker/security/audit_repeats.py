"""The limit of events that clients can cause as often as they like: refused logins, denied requests.

    the first BURST of a kind within WINDOW_MS      pass
    further ones                                    are counted, and told as one number at the window's end

A kind is whatever repeats: the user, the address, the resource.  Over all kinds EVENTS_MAX pass in a window,
so that new names in each request do not fill a disk either; of these SOURCE_MAX for one address, so that a
client cannot hide what comes from others.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final, Generic, TypeVar

KindT = TypeVar("KindT", bound=Hashable)

BURST: Final = 10
WINDOW_MS: Final = 10_000
EVENTS_MAX: Final = 1_000
SOURCE_MAX: Final = 200


class Repeats(Generic[KindT]):
    """The events of one name in the present window, by their kind."""

    def __init__(self) -> None:
        self._passed: dict[KindT, int] = {}
        self._sources: dict[str, int] = {}
        self._left_out: dict[KindT, int] = {}
        # Those of kinds that have no room in the table.
        self._others = 0
        self._count = 0
        self.ends_ms = 0
        """The end of the present window."""

    def passes(self, kind: KindT, source: str, now_ms: int) -> bool:
        """Whether an event of this kind, from this address, is told by itself; if not, it is counted.

        After the end of a window, `take` what it left out first.
        """
        if now_ms >= self.ends_ms:
            assert not self.has_left_out, "what was left out is told before a new window begins"
            self._forget()
            self.ends_ms = now_ms + WINDOW_MS
        passed = self._passed.get(kind, 0)
        from_there = self._sources.get(source, 0)
        if passed < BURST and from_there < SOURCE_MAX and self._count < EVENTS_MAX:
            self._passed[kind] = passed + 1
            self._sources[source] = from_there + 1
            self._count += 1
            return True
        if kind in self._left_out or len(self._left_out) < EVENTS_MAX:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
        else:
            self._others += 1
        return False

    @property
    def has_left_out(self) -> bool:
        """Whether any event of this window was left out."""
        return bool(self._left_out)

    def take(self) -> tuple[dict[KindT, int], int]:
        """End the window; return the numbers of events left out, by kind and of all other kinds."""
        left_out, others = self._left_out, self._others
        self._left_out, self._others = {}, 0
        self._forget()
        self.ends_ms = 0
        return left_out, others

    def _forget(self) -> None:
        self._passed.clear()
        self._sources.clear()
        self._count = 0
