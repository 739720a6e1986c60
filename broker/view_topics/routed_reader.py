"""Reading a view through the index that it shares with others: it evaluates the records with its value."""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Final

from broker.loop.slices import Until, WaitingSteps
from broker.view_topics.view_cache import Evaluated

if TYPE_CHECKING:
    from broker.view_topics.route_index import IndexedRange, RoutedView, RouteIndex
    from broker.view_topics.view_routing import Route
    from broker.view_topics.view_slices import SliceBudget
    from views.router import RoutedBatch

SHOWN_BYTES: Final = 256 << 10
"""The most bytes found in one go, or the last of them would push the first out of a small memory."""

UNITS_OF_SHOWING: Final = 20
"""The cost of evaluating the records of one value in a batch, in the units of `SliceBudget`."""


class RoutedReader:
    """The reader of a partition of a view by way of an index."""

    __slots__ = ("_value", "_view", "index")

    def __init__(self, view: RoutedView, route: Route, index: RouteIndex) -> None:
        self.index = index
        self._view = view
        self._value = route.value
        index.join(view, self._value)

    def close(self) -> None:
        """Leave the index, as the view is closed."""
        self.index.leave(self._view, self._value)

    @property
    def is_shared(self) -> bool:
        """Whether there are enough views to use the index."""
        return self.index.is_shared

    def is_ahead(self, position: int) -> bool:
        """Whether the index is about to reach that position."""
        return position >= self.index.tail and self.index.is_awaited()

    def knows(self, offset: int) -> bool:
        """Whether looking at the offset costs next to nothing."""
        return self.is_shared and self.index.find(offset) is not None

    def recalled(self, offset: int) -> Evaluated | None:
        """Return the range that holds the offset, if the index knows that none of it is shown."""
        found = self.index.find(offset) if self.is_shared else None
        if found is None:
            return None
        first = found.first(self._value, offset)
        end = found.end if first is None else first.header.base_offset
        if end <= offset:
            return None
        return self._pass(found, offset, end)

    def look(self, offset: int, budget: SliceBudget) -> WaitingSteps:
        """Evaluate the records of the view's value, at least in the range that holds the offset.

        Raises: OffsetOutOfRange, WalError, DiskError.
        """
        found = self.index.find(offset)
        if found is None:
            yield from self.index.make(offset, budget)
            return
        shown_bytes, compaction = 0, self.index.compaction
        while offset < found.end and shown_bytes < SHOWN_BYTES:
            routed = found.first(self._value, offset)
            end = found.end if routed is None else routed.header.base_offset
            if offset < end:
                self._pass(found, offset, end)
            if routed is None:
                return
            shown_bytes += yield from self._show(routed)
            if compaction != self.index.compaction:
                return
            offset = routed.header.last_offset + 1
            if budget.spend_units(UNITS_OF_SHOWING):
                yield None
                if compaction != self.index.compaction:
                    return

    def _pass(self, found: IndexedRange, start: int, end: int) -> Evaluated:
        """Note that nothing is shown of these offsets."""
        counters = self._view.counters
        counters.scanned += end - start
        counters.unfit += found.unfit_between(start, end)
        return self._view.ranges.add_nothing(start, end)

    def _show(self, routed: RoutedBatch) -> Generator[Until | None, None, int]:
        """Evaluate the records that have the view's value, many of them in slices; return what is shown."""
        view, header, compaction = self._view, routed.header, self.index.compaction
        records = routed.records(self._value)
        assert records is not None, "the batch was found by its value"
        made = view.filtered_now(records)
        if made is None:
            made = yield from view.filtered(records, None)
            if compaction != self.index.compaction:
                return 0
        counters = view.counters
        counters.scanned += header.record_count
        counters.matched += made.matched
        counters.unfit += routed.unfit + made.unfit
        view.ranges.add(Evaluated(header.base_offset, header.last_offset + 1, made.batch))
        return 0 if made.batch is None else len(made.batch)
