"""Views that begin with the present state: `kawal.snapshot=true`.

A reader that begins at the start of such a view gets, of the records that there are at that moment, the last
one of each key (key_snapshot.py), and from there on every record: nothing is missing between the two, and
nothing comes twice.  As with a replay, a reader is a fetch session, or else a connection with its client id,
and each has a snapshot of its own.  A reader that begins elsewhere, such as a consumer that goes on from its
progress, gets every record from there; so does one whose snapshot was forgotten, because it has read it, the
server was restarted, or others needed the room.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import TYPE_CHECKING, Final
from uuid import UUID

from broker.view_topics.key_snapshot import OVER_MANY, KeyBudget, KeySnapshot
from broker.view_topics.member_view import MemberView

if TYPE_CHECKING:
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_partition import ViewPartition, ViewRead

SNAPSHOTS_MAX: Final = 10_000
"""The snapshots that are remembered, over all views; the least recently read one is forgotten first."""

KEYS_MAX: Final = 200_000
"""The keys in all of them, at 160 bytes each: 32 MB."""

Place = tuple[UUID, int, Hashable]
"""The view, its partition, and the reader."""


class ReaderSnapshots:
    """The snapshots that readers of views are reading."""

    def __init__(self, host: ViewHost) -> None:
        self.budget = KeyBudget(KEYS_MAX)
        self._host = host
        self._reading: OrderedDict[Place, MemberView] = OrderedDict()

    def __len__(self) -> int:
        return len(self._reading)

    def view_of(
        self, window: ViewPartition, inner: ViewPartition, read: ViewRead, begin: int
    ) -> ViewPartition | MemberView:
        """Return what the reader is to see of the view inside the window, which begins at this offset."""
        place = window.topic.topic_id, window.index, read.reader
        view = self._reading.get(place)
        if view is not None and (view.partition is not inner or _is_over(view, read.offset)):
            # A view that was reloaded has other partitions.
            self._forget(place)
            view = None
        if view is None:
            if read.offset > begin or read.offset >= window.high_watermark:
                return inner
            view = self._begin(place, window, inner, begin)
        assert view.snapshot is not None
        # Retention may have deleted what was to be noted.
        view.snapshot.noted = max(view.snapshot.noted, inner.log_start)
        self._reading.move_to_end(place)
        return view

    def _begin(self, place: Place, window: ViewPartition, inner: ViewPartition, begin: int) -> MemberView:
        while self._reading and (self.budget.is_full or len(self._reading) >= SNAPSHOTS_MAX):
            self._forget(next(iter(self._reading)))
        view = self._reading[place] = MemberView(self._host.loop, inner)
        view.snapshot = KeySnapshot(
            begin,
            window.high_watermark,
            self.budget,
            over_many=window.definition.kind in OVER_MANY,
        )
        return view

    def _forget(self, place: Place) -> None:
        snapshot = self._reading.pop(place).snapshot
        assert snapshot is not None
        snapshot.close()

    def forget_all(self, window: ViewPartition) -> None:
        """Free what is kept for a partition that is closed."""
        of_it = window.topic.topic_id, window.index
        for place in [place for place in self._reading if place[:2] == of_it]:
            self._forget(place)


def _is_over(view: MemberView, offset: int) -> bool:
    return view.snapshot is not None and offset >= view.snapshot.end
