"""All views at work: opening their partitions, waking who waits at their ends, counting what they do.

    parked fetch --began_waiting--> source.watch(partition)
    new durable records --advanced--> queue --a slice at a time--> partition.catch_up()
                                      bytes that match --> fetch_waiters.advanced(wait_key, bytes)

New records are looked at once for each view that somebody waits for, however many wait; nobody is woken for
records that the view does not show.  A view that nobody waits for costs nothing until it is read.
"""

from __future__ import annotations

from collections.abc import Hashable
from importlib import import_module
from typing import TYPE_CHECKING, Final

import msgspec

from broker.partition import Partition
from broker.view_cache import CacheBudget
from broker.view_stats import ViewCounters

if TYPE_CHECKING:
    from uuid import UUID

    from broker.core import Broker
    from broker.slices import Steps
    from broker.topics import Topic
    from broker.view_pacing import Pacing
    from broker.view_partition import ViewPartition
    from broker.vnode import Vnode
    from views.evaluator import Evaluator
    from views.expressions import Expression
    from views.plan import Plan
    from wal.commit import Advanced

KINDS: Final = {
    "query": "broker.query_view",
    "stable": "broker.query_view",
    "stable_meta": "broker.stable_meta_view",
    "unfit": "broker.unfit_view",
    "alias": "broker.query_view",
    "database": "broker.database_view",
}
"""The module of each kind of view; `open_partition(hub, topic, index)` makes a partition of it."""

SLICE_UNITS: Final = 3_000
"""Work done before others have their turn, in units of about 1.5 µs: one for each record looked at."""

BATCH_UNITS: Final = 30
"""What a batch costs besides its records."""

COMPILE_UNITS: Final = 1_500
"""What making a view's evaluator costs, once after a start: 2 to 3 ms."""

BYTES_PER_UNIT: Final = 2_048
"""Decompressing, parsing and summing cost by the byte as well."""


SETTLED_MS: Final = 250
"""What has been there for so long is old: see `ViewPartition.has_news`."""

TOGETHER_MIN: Final = 8
"""So many views at least are looked at together; fewer are quicker one by one."""

VIEWS_PER_MS: Final = 50
"""After a pass over a thousand views there is a rest of 20 ms: long passes must not take all the time."""

ROUTES_MAX: Final = 100
"""Expressions that views look at together by and that are kept compiled; another one takes 2 ms."""

NEVER_MS: Final = -(10**15)


class SliceBudget:
    """The work that may still be done in this slice."""

    __slots__ = ("left",)

    def __init__(self) -> None:
        self.left = SLICE_UNITS

    def spend(self, *, records: int, size_bytes: int) -> bool:
        """Account for one batch; True when the slice is over, and a new one begins."""
        return self.spend_units(BATCH_UNITS + records + size_bytes // BYTES_PER_UNIT)

    def spend_units(self, units: int) -> bool:
        """Account for some work; True as for `spend`."""
        self.left -= units
        if self.left > 0:
            return False
        self.left = SLICE_UNITS
        return True


class ViewSource:
    """What several views read: a stream, or all of a vnode; when it grew, and who is to be told."""

    __slots__ = ("_end", "_end_ms", "_grown_ms", "_old_end", "readers", "watching")

    def __init__(self) -> None:
        # The partitions of views that are open, by their wait keys; and those for which fetches may wait.
        self.readers: set[int] = set()
        self.watching: dict[int, ViewPartition] = {}
        self._grown_ms = NEVER_MS
        # Where it ended at `_end_ms`, and `SETTLED_MS` or more before that.
        self._end_ms = NEVER_MS
        self._end = self._old_end = 0

    def watch(self, partition: ViewPartition) -> None:
        """Let the partition catch up whenever there is more, as long as fetches wait for it."""
        self.watching[partition.wait_key] = partition

    def advanced(self, end: int, now_ms: int) -> None:
        """The source ends at `end` now."""
        self._grown_ms = now_ms
        if now_ms - self._end_ms >= SETTLED_MS:
            self._old_end, self._end, self._end_ms = self._end, end, now_ms

    def settled_end(self, end: int, now_ms: int) -> int:
        """Up to where the source, which ends at `end`, has been there for `SETTLED_MS` at least."""
        if now_ms - self._grown_ms >= SETTLED_MS:
            return end
        return self._end if now_ms - self._end_ms >= SETTLED_MS else self._old_end


class ViewHub:
    """The views of one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.budget = CacheBudget(lambda: broker.config.kawal_views_cache_bytes)
        self.counters: dict[str, ViewCounters] = {}
        self._evaluators: dict[UUID, Evaluator] = {}
        self._compiled = 0
        self._routes: dict[Expression, Evaluator] = {}
        self._route_numbers: dict[Expression, int] = {}
        # The readers of the views that replay.
        self.pacings: dict[UUID, Pacing] = {}
        # The time of the last news, for answers that are given on account of them.
        self.now_ms = 0
        self._sources: dict[Hashable, ViewSource] = {}
        # Views and whole sources that have news, and whether somebody is at them, or has just been.
        self._queued: dict[int, ViewPartition] = {}
        self._grown: dict[ViewSource, None] = {}
        self._working = self._resting = False
        self._rests_until_ms = NEVER_MS
        broker.topics.open_view = self.open_partition

    def open_partition(self, topic: Topic, index: int) -> Partition:
        """Make a partition of a view."""
        assert topic.view is not None
        opened: ViewPartition = import_module(KINDS[topic.view.kind]).open_partition(self, topic, index)
        if topic.view.is_windowed:
            from broker.view_window import windowed

            return windowed(self, topic, index, opened)
        return opened

    def evaluator(self, topic: Topic) -> Evaluator:
        """What a view does with a batch, made anew from its definition: about 3 ms at its first use."""
        found = self._evaluators.get(topic.topic_id)
        if found is None:
            from views.evaluator import build_evaluator
            from views.plan import restore_plan

            assert topic.view is not None
            plan = restore_plan(topic.view.statement, msgspec.json.decode(topic.view.schema))
            found = self._evaluators[topic.topic_id] = build_evaluator(plan)
            self._compiled += 1
        return found

    def _take_compiled(self) -> int:
        """How many evaluators were made since the last call."""
        compiled, self._compiled = self._compiled, 0
        return compiled

    def route_evaluator(self, plan: Plan, expression: Expression) -> Evaluator:
        """What gives the value of an expression for each record, for views that are looked at together."""
        found = self._routes.get(expression)
        if found is None:
            from broker.view_routing import route_evaluator

            if len(self._routes) >= ROUTES_MAX:
                del self._routes[next(iter(self._routes))]
            found = self._routes[expression] = route_evaluator(plan, expression)
        return found

    def route_number(self, expression: Expression) -> int:
        """The same number for the same expression: comparing trees a thousand times a second is dear."""
        return self._route_numbers.setdefault(expression, len(self._route_numbers))

    def counters_of(self, topic: Topic) -> ViewCounters:
        """What the view has done since the start."""
        found = self.counters.get(topic.name)
        if found is None:
            found = self.counters[topic.name] = ViewCounters()
        return found

    def forget(self, topic: Topic) -> None:
        """The topic is gone: give back what its partitions keep, if it was a view."""
        self.counters.pop(topic.name, None)
        self._evaluators.pop(topic.topic_id, None)
        self.pacings.pop(topic.topic_id, None)
        for partition in topic.partitions.values():
            partition.close()

    def join(self, key: Hashable, partition: ViewPartition) -> ViewSource:
        """The source `key`, a stream's id or a vnode, which the partition reads from now on."""
        source = self._sources.get(key)
        if source is None:
            source = self._sources[key] = ViewSource()
        source.readers.add(partition.wait_key)
        return source

    def leave(self, key: Hashable, partition: ViewPartition) -> None:
        """The partition reads the source no more."""
        source = self._sources[key]
        source.readers.discard(partition.wait_key)
        source.watching.pop(partition.wait_key, None)
        if not source.readers:
            del self._sources[key]

    def advanced(self, vnode: Vnode, streams: list[Advanced], now_ms: int) -> None:
        """These streams of the vnode have more to read."""
        self.now_ms = now_ms
        if not self._sources:
            return
        for stream in streams:
            source = self._sources.get(stream.stream_id)
            if source is not None:
                self._source_advanced(source, vnode.log.high_watermark(stream.stream_id))
        source = self._sources.get(vnode)
        if source is not None:
            self._source_advanced(source, vnode.log.next_version)

    def _source_advanced(self, source: ViewSource, end: int) -> None:
        source.advanced(end, self.now_ms)
        if source.watching:
            self._grown[source] = None
            self._begin_soon()

    def schedule(self, partition: ViewPartition) -> None:
        """Let the partition catch up soon."""
        self._queued[partition.wait_key] = partition
        self._begin_soon()

    def _begin_soon(self) -> None:
        """Begin a pass over the views that have news, unless the last one was long and just now."""
        if self._working or self._resting:
            return
        if self.now_ms < self._rests_until_ms:
            self._resting = True
            self.broker.deadlines.add(self._rests_until_ms, self._rested)
            return
        self._working = True
        self.broker.slices.add_work(self._work())

    def _rested(self, now_ms: int) -> None:
        self._resting = False
        self.now_ms = now_ms
        if self._queued or self._grown:
            self._begin_soon()

    def _work(self) -> Steps:
        """Let every view that has news catch up; a slice may serve many of them."""
        budget = SliceBudget()
        try:
            views = self._take_queued()
            alike: dict[Hashable, list[ViewPartition]] = {}
            for view in views:
                key = view.group_key()
                alike.setdefault(view.wait_key if key is None else key, []).append(view)
                if budget.spend_units(1 + self._take_compiled() * COMPILE_UNITS):
                    yield
            for members in alike.values():
                if len(members) >= TOGETHER_MIN:
                    yield from members[0].catch_up_with(members, budget)
                else:
                    for one in members:
                        yield from one.catch_up(budget)
            self._rests_until_ms = self.now_ms + len(views) // VIEWS_PER_MS
        finally:
            self._working = False
            if self._queued or self._grown:
                self._begin_soon()

    def _take_queued(self) -> list[ViewPartition]:
        """The views that have news and that fetches wait for."""
        waits_for = self.broker.fetch_waiters.waits_for
        taken, self._queued = self._queued, {}
        for source in self._grown:
            for wait_key, view in tuple(source.watching.items()):
                if waits_for(wait_key):
                    taken[wait_key] = view
                else:
                    del source.watching[wait_key]
        self._grown.clear()
        return list(taken.values())
