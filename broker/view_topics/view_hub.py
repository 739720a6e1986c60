"""All views at work: opening their partitions, waking who waits at their ends, counting what they do.

    parked fetch --began_waiting--> source.watch(partition)
    new durable records --advanced--> queue --a slice at a time--> partition.catch_up()
                                      bytes that match --> waiters.advanced(wait_key, bytes)

New records are looked at once for each view that somebody waits for, however many wait; nobody is woken for
records that the view does not show.  A view that nobody waits for costs nothing until it is read.
"""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Final

import msgspec

from broker.storage.partition import Partition
from broker.view_topics.view_cache import CacheBudget
from broker.view_topics.view_slices import SliceBudget
from broker.view_topics.view_source import NEVER_MS, ViewSource, Watcher
from broker.view_topics.view_stats import ViewCounters
from broker.view_topics.view_tags import SharedTags

if TYPE_CHECKING:
    from uuid import UUID

    from broker.catalogue.topics import Topic
    from broker.core import Broker
    from broker.loop.slices import Steps
    from broker.storage.vnode import Vnode
    from broker.view_topics.query_view import QueryPartition
    from broker.view_topics.route_index import RouteIndex
    from broker.view_topics.view_pacing import Pacing
    from broker.view_topics.view_partition import ViewPartition
    from broker.view_topics.view_routing import Route
    from views.evaluator import Evaluator
    from views.expressions import Expression
    from views.filtering import Limits
    from views.plan import Plan
    from views.router import Router
    from wal.commit import Advanced

KINDS: Final = {
    "query": "broker.view_topics.query_view",
    "stable": "broker.view_topics.query_view",
    "stable_meta": "broker.view_topics.stable_meta_view",
    "unfit": "broker.view_topics.unfit_view",
    "alias": "broker.view_topics.query_view",
    "database": "broker.view_topics.database_view",
}
"""The module of each kind of view; `open_partition(hub, topic, index)` makes a partition of it."""

COMPILE_UNITS: Final = 1_500
"""What making a view's evaluator costs, once after a start: 2 to 3 ms."""

REST: Final = 4
"""After a pass there is a rest of four times its length: views must not take all the time, and who waits for
many records is answered once for all that came meanwhile."""

REST_FROM_NS: Final = 2_000_000
REST_MS_MAX: Final = 250
"""Short passes need no rest; a longer one would be noticed."""

ROUTERS_MAX: Final = 100
"""Expressions that views look at together by and that are kept compiled; another one takes 2 ms."""


DONE: Final = object()


class ViewHub:
    """The views of one broker."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        # What the indexes of routes keep goes by much faster than what views show, and must not push it out.
        self.index_budget = CacheBudget(lambda: broker.config.kawal_views_cache_bytes // 2)
        self.budget = CacheBudget(self._shown_bytes_max)
        self.counters: dict[str, ViewCounters] = {}
        self._evaluators: dict[UUID, Evaluator] = {}
        self._limits: Limits | None = None
        self._compiled = 0
        self._routers: dict[Expression, Router] = {}
        self._indexes: dict[tuple[int, int], RouteIndex] = {}
        self._route_numbers: dict[Expression, int] = {}
        # The readers of the views that replay.
        self.pacings: dict[UUID, Pacing] = {}
        self.tags = SharedTags()
        # Fetches that are looking at their sources just now.
        self.looking = 0
        # The time of the last news, for answers that are given on account of them.
        self.now_ms = 0
        self._sources: dict[Hashable, ViewSource] = {}
        # Views and whole sources that have news, and whether somebody is at them, or has just been.
        self._queued: dict[int, Watcher] = {}
        self._grown: dict[ViewSource, None] = {}
        self._working = self._resting = False
        self._rests_until_ms = NEVER_MS
        broker.topics.open_view = self.open_partition

    def _shown_bytes_max(self) -> int:
        """What is left for what views show: half at least, though an index keeps one range however large."""
        limit_bytes = self.broker.config.kawal_views_cache_bytes
        return limit_bytes - min(self.index_budget.used_bytes, limit_bytes // 2)

    @property
    def used_bytes(self) -> int:
        """The memory that all views take for what they have found."""
        return self.budget.used_bytes + self.index_budget.used_bytes

    def open_partition(self, topic: Topic, index: int) -> Partition:
        """Make a partition of a view."""
        assert topic.view is not None
        opened: ViewPartition = import_module(KINDS[topic.view.kind]).open_partition(self, topic, index)
        if topic.view.is_windowed:
            from broker.view_topics.view_window import windowed

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

    def route_number(self, expression: Expression) -> int:
        """The same number for the same expression: comparing trees a thousand times a second is dear."""
        return self._route_numbers.setdefault(expression, len(self._route_numbers))

    def route_index(self, view: QueryPartition, plan: Plan, route: Route) -> RouteIndex:
        """The index of the values that the expression of the route has on the view's source."""
        from broker.view_topics.route_index import RouteIndex

        key = view.stream_id, route.number
        index = self._indexes.get(key)
        if index is None:
            router = partial(self._router, plan, route.expression)
            index = self._indexes[key] = RouteIndex(
                self,
                router,
                vnode=view.vnode,
                stream_id=view.stream_id,
                partition=view.index,
                closed=lambda: self._indexes.pop(key),
            )
        return index

    def _router(self, plan: Plan, expression: Expression) -> Router:
        """What gives the value of an expression for each record."""
        found = self._routers.get(expression)
        if found is None:
            from views.router import build_router

            if len(self._routers) >= ROUTERS_MAX:
                del self._routers[next(iter(self._routers))]
            found = self._routers[expression] = build_router(plan, expression)
            self._compiled += 1
        return found

    def new_wait_key(self) -> int:
        """Return a key that nothing else is waited for by."""
        return self.broker.waiters.new_key()

    def counters_of(self, topic: Topic) -> ViewCounters:
        """What the view has done since the start."""
        found = self.counters.get(topic.name)
        if found is None:
            found = self.counters[topic.name] = ViewCounters()
        return found

    @property
    def limits(self) -> Limits:
        """What a view may do with a batch in one go."""
        if self._limits is None:
            from views.filtering import Limits

            self._limits = Limits(clock_ns=self.broker.stats.clock_ns)
        return self._limits

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

    def schedule(self, watcher: Watcher) -> None:
        """Let it catch up soon."""
        self._queued[watcher.wait_key] = watcher
        self._begin_soon()

    def _begin_soon(self) -> None:
        """Begin a pass over the views that have news, unless the last one was long and just now."""
        if self._working or self._resting:
            return
        if self.now_ms < self._rests_until_ms:
            self._resting = True
            self.broker.timers.add(self._rests_until_ms, self._rested)
            return
        self._working = True
        self.broker.scheduler.add_work(self._work())

    def _rested(self, now_ms: int) -> None:
        self._resting = False
        self.now_ms = now_ms
        if self._queued or self._grown:
            self._begin_soon()

    def _work(self) -> Steps:
        """Let every view that has news catch up; a slice may serve many of them."""
        busy_ns, clock_ns = 0, self.broker.stats.clock_ns
        steps = self._catch_up()
        try:
            while True:
                began_ns = clock_ns()
                is_over = next(steps, DONE) is DONE
                busy_ns += clock_ns() - began_ns
                if is_over:
                    break
                yield
        finally:
            self._working = False
            if busy_ns > REST_FROM_NS:
                self._rests_until_ms = self.now_ms + min(REST * busy_ns // 1_000_000, REST_MS_MAX)
            if self._queued or self._grown:
                self._begin_soon()

    def _catch_up(self) -> Steps:
        budget = SliceBudget(self.broker.stats.clock_ns)
        for watcher in self._take_queued():
            yield from watcher.catch_up(budget)
            if budget.spend_units(1 + self._take_compiled() * COMPILE_UNITS):
                yield

    def _take_queued(self) -> list[Watcher]:
        """Those that have news and that fetches wait for."""
        taken, self._queued = self._queued, {}
        for source in self._grown:
            for wait_key, watcher in tuple(source.watching.items()):
                if watcher.is_awaited():
                    taken[wait_key] = watcher
                else:
                    del source.watching[wait_key]
        self._grown.clear()
        return list(taken.values())
