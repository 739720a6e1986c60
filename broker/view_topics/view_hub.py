"""All views in operation: opens their partitions, wakes fetches that wait at their ends, counts their work.

    parked fetch --began_waiting--> source.watch(partition)
    new durable records --advanced--> queue --a slice at a time--> partition.catch_up()
                                      bytes that match --> waiters.advanced(wait_key, bytes)

New records are evaluated once for each view for which fetches wait, however many wait; none is woken for
records that the view does not show.  A view for which no fetch waits costs nothing until it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec

from broker.loop.slices import emptied
from broker.storage.partition import Partition
from broker.view_topics.compiled_views import CompiledViews
from broker.view_topics.view_cache import CacheBudget
from broker.view_topics.view_loading import load_soon
from broker.view_topics.view_slices import SliceBudget
from broker.view_topics.view_source import NEVER_MS, ViewSource, Watcher
from broker.view_topics.view_stats import ViewCounters
from broker.view_topics.view_tags import SharedTags

if TYPE_CHECKING:
    from uuid import UUID

    from broker.catalogue.catalogue_records import ViewDefinition
    from broker.catalogue.metadata import Metadata
    from broker.catalogue.topics import Topic
    from broker.loop.loop import Loop
    from broker.loop.slices import WaitingSteps
    from broker.storage.schemas import Schemas
    from broker.storage.vnode import Vnode
    from broker.storage.vnodes import Vnodes
    from broker.view_topics.view_host import ViewHost
    from broker.view_topics.view_pacing import Pacing
    from broker.view_topics.view_partition import ViewPartition
    from views.evaluator import Evaluator
    from views.filtering import Limits
    from views.key_room import KeyRoom
    from wal.commit import Advanced

T = TypeVar("T")

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
"""The cost of making a view's evaluator: 2 to 3 ms."""

REST: Final = 4
"""After a pass, views rest for four times its length.

They must not take all the time, and a fetch that waits for many records is answered once for all that
arrived meanwhile.
"""

REST_FROM_NS: Final = 2_000_000
REST_MS_MAX: Final = 250
"""Short passes need no rest, and a longer rest would be noticed."""


DONE: Final = object()


class ViewHub:
    """The views of one broker."""

    def __init__(
        self, metadata: Metadata, loop: Loop, vnodes: Vnodes, schemas: Callable[[], Schemas]
    ) -> None:
        self.metadata = metadata
        self.loop = loop
        self.vnodes = vnodes
        self._schemas = schemas
        # Ranges of indexes are replaced much faster than batches that views show, and must not evict those.
        self.index_budget = CacheBudget(lambda: metadata.config.kawal_views_cache_bytes // 2)
        self.budget = CacheBudget(self._shown_bytes_max)
        self.counters: dict[str, ViewCounters] = {}
        self.evaluators = CompiledViews(
            lambda: metadata.config.kawal_views_compiled_bytes,
            lambda: loop.scheduler.offload,
            self._count_compiled,
        )
        self._limits: Limits | None = None
        self._shared: dict[Any, Any] = {}
        self.compiled = 0
        self.pacings: dict[UUID, Pacing] = {}
        self.tags = SharedTags(lambda: self.key_room)
        self._key_room: KeyRoom | None = None
        self.looking = 0
        self.now_ms = 0
        self._sources: dict[Hashable, ViewSource] = {}
        # Views and whole sources with new records, and whether a pass over them runs, or has just ended.
        self._queued: dict[int, Watcher] = {}
        self._grown: dict[ViewSource, None] = {}
        self._working = self._resting = False
        self._rests_until_ms = NEVER_MS
        if any(topic.view is not None for topic in metadata.catalogue.by_name.values()):
            load_soon(loop)

    def _shown_bytes_max(self) -> int:
        """Return the memory for shown batches: at least half, as an index keeps one range of any size."""
        limit_bytes = self.metadata.config.kawal_views_cache_bytes
        return limit_bytes - min(self.index_budget.used_bytes, limit_bytes // 2)

    @property
    def schemas(self) -> Schemas:
        """The schemas that values name."""
        return self._schemas()

    @property
    def used_bytes(self) -> int:
        """The memory that all views take for their findings."""
        return self.budget.used_bytes + self.index_budget.used_bytes

    def open_partition(self, topic: Topic, index: int) -> Partition:
        """Make a partition of a view."""
        assert topic.view is not None
        opened: ViewPartition = import_module(KINDS[topic.view.kind]).open_partition(self, topic, index)
        if topic.view.is_windowed:
            from broker.view_topics.view_window import windowed

            return windowed(self, topic, index, opened)
        return opened

    def evaluator(self, topic: Topic, definition: ViewDefinition) -> Evaluator:
        """Return the view's evaluator by a definition that it has, or had.

        If there is none, it takes 3 ms, and 60 ms at worst: `make_evaluator` has a thread do it before.
        """
        # Nothing is made of the arguments but when it must be: this is called for each batch.
        found = self.evaluators.find(topic.topic_id, definition)
        if found is None:
            found = self.evaluators.now(*self._making(topic, definition))
        return found

    def make_evaluator(self, topic: Topic, definition: ViewDefinition) -> WaitingSteps:
        """Return it, and have a thread make it if there is none; the caller holds it while it is in use."""
        return self.evaluators.make(*self._making(topic, definition))

    def _making(
        self, topic: Topic, definition: ViewDefinition
    ) -> tuple[Hashable, Hashable, Callable[[], Evaluator], Callable[[], bool]]:
        def is_wanted() -> bool:
            now = self.metadata.catalogue.by_id.get(topic.topic_id)
            return now is not None and now.view == definition

        return topic.topic_id, definition, partial(_evaluator_of, definition), is_wanted

    def _count_compiled(self) -> None:
        self.compiled += 1

    def _take_compiled(self) -> int:
        """Return how many evaluators and routers were made since the last call."""
        compiled, self.compiled = self.compiled, 0
        return compiled

    def shared(self, make: Callable[[ViewHost], T]) -> T:
        """Return the one object that `make` makes for all views of this hub."""
        found: T | None = self._shared.get(make)
        if found is None:
            found = self._shared[make] = make(self)
        return found

    def counters_of(self, topic: Topic) -> ViewCounters:
        """Return the counters of the view since the start."""
        found = self.counters.get(topic.name)
        if found is None:
            found = self.counters[topic.name] = ViewCounters()
        return found

    @property
    def key_room(self) -> KeyRoom:
        """The memory of what is known of keys."""
        if self._key_room is None:
            from views.key_room import KeyRoom

            self._key_room = KeyRoom(
                lambda: self.metadata.config.kawal_views_keys_bytes,
                lambda tables: self.loop.scheduler.add_work(emptied(*tables)),
            )
        return self._key_room

    @property
    def limits(self) -> Limits:
        """The limits on the work of a view on a batch in one go."""
        if self._limits is None:
            from views.filtering import Limits

            self._limits = Limits(clock_ns=self.loop.stats.clock_ns)
        return self._limits

    def forget(self, topic: Topic) -> None:
        """Forget a view that is deleted, or gets another definition, but for its partitions."""
        self.counters.pop(topic.name, None)
        self.evaluators.drop(topic.topic_id)
        self.pacings.pop(topic.topic_id, None)

    def join(self, key: Hashable, wait_key: int) -> ViewSource:
        """Register a reader of the source `key`, a stream's id or a vnode, and return the source."""
        source = self._sources.get(key)
        if source is None:
            source = self._sources[key] = ViewSource()
        source.readers.add(wait_key)
        return source

    def leave(self, key: Hashable, wait_key: int) -> None:
        """Remove a reader of the source, and with the last one the source."""
        source = self._sources[key]
        source.readers.discard(wait_key)
        source.watching.pop(wait_key, None)
        if not source.readers:
            del self._sources[key]

    def advanced(self, vnode: Vnode, streams: list[Advanced], now_ms: int) -> None:
        """Let views know that these streams of the vnode have more to read."""
        self.now_ms = now_ms
        if not self._sources:
            return
        for stream in streams:
            source = self._sources.get(stream.stream_id)
            if source is not None:
                self._source_advanced(source, vnode.log.high_watermark(stream.stream_id))
        source = self._sources.get(vnode)
        if source is not None:
            self._source_advanced(source, vnode.log.shown_version)

    def _source_advanced(self, source: ViewSource, end: int) -> None:
        source.advanced(end, self.now_ms)
        if source.watching:
            self._grown[source] = None
            self._begin_soon()

    def schedule(self, watcher: Watcher) -> None:
        """Have the watcher catch up soon."""
        self._queued[watcher.wait_key] = watcher
        self._begin_soon()

    def _begin_soon(self) -> None:
        """Begin a pass over the views with new records; after a long pass, wait for the end of its rest."""
        if self._working or self._resting:
            return
        if self.now_ms < self._rests_until_ms:
            self._resting = True
            self.loop.timers.add(self._rests_until_ms, self._rested)
            return
        self._working = True
        self.loop.scheduler.add_work(self._work())

    def _rested(self, now_ms: int) -> None:
        self._resting = False
        self.now_ms = now_ms
        if self._queued or self._grown:
            self._begin_soon()

    def _work(self) -> WaitingSteps:
        """Let every view with new records catch up; a slice may serve many of them."""
        busy_ns, clock_ns = 0, self.loop.stats.clock_ns
        steps = self._catch_up()
        try:
            while True:
                began_ns = clock_ns()
                pause: Any = next(steps, DONE)
                busy_ns += clock_ns() - began_ns
                if pause is DONE:
                    break
                yield pause
        finally:
            self._working = False
            if busy_ns > REST_FROM_NS:
                self._rests_until_ms = self.now_ms + min(REST * busy_ns // 1_000_000, REST_MS_MAX)
            if self._queued or self._grown:
                self._begin_soon()

    def _catch_up(self) -> WaitingSteps:
        budget = SliceBudget(self.loop.stats.clock_ns)
        for watcher in self._take_queued():
            yield from watcher.catch_up(budget)
            if budget.spend_units(1 + self._take_compiled() * COMPILE_UNITS):
                yield None

    def _take_queued(self) -> list[Watcher]:
        """Take the watchers that have new records and for which fetches wait."""
        taken, self._queued = self._queued, {}
        for source in self._grown:
            for wait_key, watcher in tuple(source.watching.items()):
                if watcher.is_awaited():
                    taken[wait_key] = watcher
                else:
                    del source.watching[wait_key]
        self._grown.clear()
        return list(taken.values())


def _evaluator_of(definition: ViewDefinition) -> Evaluator:
    """Return an evaluator of a view that has a statement."""
    from views.evaluator import build_evaluator
    from views.plan import restore_plan

    return build_evaluator(restore_plan(definition.statement, msgspec.json.decode(definition.schema)))
