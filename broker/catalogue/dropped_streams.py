"""The streams of deleted topics: from the durable record of that until their logs have forgotten them.

    deleted --> queue --some at a time--> dropped in their logs, not durable yet --> forgotten by them
                                              `--refused by the log--> again, with the next deletion or pass

A topic may have 200,000 streams, and one request may delete thousands of topics. What is dropped in one turn,
and what one sync makes the logs forget, is bounded. The catalogue knows all of them until then, so a start
goes on with what a stop leaves.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Final

from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps, Until, WaitingSteps, at_once, or_again
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.deleted_elsewhere import DeletedElsewhere
    from broker.catalogue.topics import Catalogue, Topic
    from broker.loop.clock import Clock
    from broker.loop.scheduler import Scheduler
    from broker.storage.vnode import Vnode
    from broker.storage.vnodes import Vnodes
    from protocol.error_codes import ErrorCode

logger = logging.getLogger("kawal.broker")

STREAMS_PER_STEP: Final = 25
"""The streams of deleted topics that are dropped between two looks at the time: about 0.4 ms."""

STREAMS_AT_ONCE: Final = 100
"""The streams dropped without a pause, of all topics whose deletion becomes durable in one moment."""

WEIGHT_UNSYNCED: Final = 500
"""The streams and producers of a log that one sync may make it forget: 2 to 3 ms."""

PRODUCERS_PER_STREAM: Final = 10
"""The producers that take as long to forget as a stream."""


_Dropped = dict["Vnode", tuple[int, int]]
"""By log: the weight of what was dropped since the last sync that was waited for, and its last version."""


class DroppedStreams:
    """Those of one node."""

    def __init__(
        self,
        *,
        catalogue: Catalogue,
        vnodes: Vnodes,
        clock: Clock,
        scheduler: Scheduler,
        elsewhere: DeletedElsewhere,
    ) -> None:
        """`elsewhere` takes the streams that other nodes have."""
        self._catalogue = catalogue
        self._vnodes = vnodes
        self._clock = clock
        self._scheduler = scheduler
        self._elsewhere = elsewhere
        # Deleted topics whose streams are to be dropped; those of the first one are being dropped.
        self._topics: deque[Topic] = deque()
        # Streams that their log may still have.
        self._undropped: deque[tuple[Vnode, int]] = deque()
        # How many streams were dropped at once in which moment.
        self._moment_ms, self._at_once = 0, 0

    @property
    def has_some(self) -> bool:
        """Whether streams of deleted topics are still in the logs of this node."""
        return bool(self._topics or self._undropped)

    def begin(self, found: Iterable[tuple[Vnode, int]]) -> None:
        """At the start, drop what a stop has left."""
        self._undropped = deque(found)
        at_once(self.drop_again())

    def drop(self, topic: Topic) -> None:
        """Drop the streams of a topic whose deletion is durable: now if they are few, else some at a time."""
        if topic.view is not None:
            return
        self._topics.append(topic)
        if len(self._topics) > 1:
            return
        if self._has_time(topic.planned_count):
            at_once(self._drop(topic, {}))
            self._topics.popleft()
        else:
            self._work()

    def _has_time(self, count: int) -> bool:
        if self._moment_ms != self._clock.turn_ms:
            self._moment_ms, self._at_once = self._clock.turn_ms, 0
        self._at_once += count
        return self._at_once <= STREAMS_AT_ONCE

    def _work(self) -> None:
        if self._topics:
            self._scheduler.add_work(or_again(self._drop_all(), self._work))

    def _drop_all(self) -> WaitingSteps:
        while self._topics:
            try:
                yield from self._drop_in_steps(self._topics[0])
            finally:
                self._topics.popleft()

    def _drop_in_steps(self, topic: Topic) -> WaitingSteps:
        """Drop a topic's streams with pauses, in which the logs make durable what has been dropped."""
        dropped: _Dropped = {}
        for _ in self._drop(topic, dropped):
            yield None
            for vnode, (weight, version) in tuple(dropped.items()):
                if weight >= WEIGHT_UNSYNCED:
                    del dropped[vnode]
                    yield Until(partial(self._when_durable, vnode, version))

    def _when_durable(self, vnode: Vnode, version: int, resume: Callable[[], None]) -> None:
        vnode.wait_durable(version, _Resumed(resume), self._clock.turn_ms)

    def _drop(self, topic: Topic, dropped: _Dropped) -> Steps:
        """Drop a topic's streams, some in each step."""
        elsewhere: list[int] = []
        try:
            for number, stream_id in enumerate(topic.stream_ids()):
                if self._vnodes.get(topic.database) is None:
                    # The whole database has been removed.
                    self._catalogue.deleted_streams.discard(stream_id)
                elif (vnode := self._vnodes.here(topic.database, topic.vnode_index(number))) is not None:
                    self._drop_stream(vnode, stream_id, dropped)
                else:
                    elsewhere.append(stream_id)
                    if len(elsewhere) == PLAIN_ITEMS_PER_STEP:
                        self._elsewhere.add(self._vnodes.meta.log.next_version, elsewhere)
                        elsewhere = []
                if not number % STREAMS_PER_STEP:
                    yield
        finally:
            self._elsewhere.add(self._vnodes.meta.log.next_version, elsewhere)

    def drop_soon(self) -> None:
        """Do what `drop_again` does: now, or if it is much, beside other work."""
        steps = self.drop_again()
        if len(self._undropped) > STREAMS_AT_ONCE:
            self._scheduler.add_work(steps)
        else:
            at_once(steps)

    def drop_again(self) -> Steps:
        """Drop the streams that their logs still have, as far as the logs accept it."""
        for number in range(1, len(self._undropped) + 1):
            if not self._undropped:
                return
            vnode, stream_id = self._undropped.popleft()
            if self._vnodes.here(vnode.database, vnode.index) is vnode:
                self._drop_stream(vnode, stream_id, {})
            else:
                # Its log has been removed, with the whole database.
                self._catalogue.deleted_streams.discard(stream_id)
            if not number % STREAMS_PER_STEP:
                yield

    def _drop_stream(self, vnode: Vnode, stream_id: int, dropped: _Dropped) -> None:
        """Drop a stream, and remember it as long as its log has it."""
        if stream_id not in vnode.log.streams():
            self._catalogue.deleted_streams.discard(stream_id)
            return
        weight = 1 + vnode.log.producer_count(stream_id) // PRODUCERS_PER_STREAM
        before = dropped.get(vnode, (0, 0))[0]
        try:
            dropped[vnode] = before + weight, vnode.log.drop_stream(stream_id)
        except WalError as error:
            logger.warning("stream %d of a deleted topic is dropped later: %s", stream_id, error)
        self._undropped.append((vnode, stream_id))


class _Resumed:
    """A waiter that lets the steps go on."""

    __slots__ = ("_resume",)

    def __init__(self, resume: Callable[[], None]) -> None:
        self._resume = resume

    def appended(self, _vnode: Vnode, _error: ErrorCode | None, _now_ms: int) -> None:
        """Let them go on: what was lost is dropped again."""
        self._resume()
