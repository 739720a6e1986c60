"""Requests as wide as their declarations allow, and the size of the steps that answer them.

The size of a step is the number of blocks of memory by which it changes what is allocated
(`sys.getallocatedblocks`, CPython).  It does not depend on the machine, and tells both of a step that makes
something for every element of a request and of one that frees it: freeing takes as long.
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Iterator
from random import Random
from types import SimpleNamespace
from typing import Any, Final
from uuid import UUID

from broker.core import Broker
from broker.loop.scheduler import Scheduler
from broker.loop.slices import WaitingSteps
from broker.start import open_broker
from protocol import schema
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.schema import REQUIRED, ArrayOf, Fixed, declaration
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from tests.broker.kit import batch

WIDE: Final = "wide"
"""The topic with very many partitions; `t0`, `t1` and so on have one."""

TOPIC_FIELDS: Final = frozenset({"name", "topic", "topic_name", "resource_name"})
PARTITION_FIELDS: Final = frozenset({"partition_index", "partition", "index", "partition_id"})
TOPIC_LISTS: Final = frozenset({"topics", "topic_names", "subscribed_topic_names"})

ROOM: Final[dict[str, Any]] = {
    "kawal_max_partitions": 10**6,
    "kawal_max_partitions_per_request": 10**6,
}

NUMBERS: Final[dict[str, int]] = {
    "acks": -1,
    "max_bytes": 1 << 20,
    "partition_max_bytes": 1 << 20,
    "resource_type": 2,
    "session_epoch": -1,
    "timeout_ms": 60_000,
    "timestamp": -1,
    "transaction_timeout_ms": 60_000,
}

Path = tuple[str, ...]
"""The names of a message's array fields, from the outermost to the one with very many elements."""


def paths(cls: type[Any], version: int, before: Path = ()) -> Iterator[Path]:
    """Yield the paths to all arrays that one version of a message has."""
    for field in declaration(cls).fields:
        if version in field.versions and isinstance(field.kind, ArrayOf) and field.tag is None:
            path = (*before, field.name)
            yield path
            if isinstance(field.kind.element, type):
                yield from paths(field.kind.element, version, path)


Work = tuple[Callable[[], object], Callable[[Exception | None], None]]


class Wide:
    """Requests about very many things, the measured steps that answer them, and the threads beside these."""

    topics: int
    ids: dict[str, UUID]
    sizes: dict[str, int]
    """The size of the largest step at each place, as `from ==> to`."""
    _work: list[Work]

    def _begin(self, topics: int) -> None:
        self._work, self.topics, self.sizes = [], topics, {}

    def _creation(self, partitions: int) -> CreateTopicsRequest:
        names = [WIDE, *(f"t{number}" for number in range(self.topics))]
        counts = {WIDE: partitions}
        new = [
            CreatableTopic(
                name=name,
                num_partitions=counts.get(name, 1),
                replication_factor=1,
                assignments=[],
                configs=[],
            )
            for name in names
        ]
        return CreateTopicsRequest(topics=new, timeout_ms=10**6)

    def _learn(self, broker: Broker, answer: Any) -> None:
        """Learn the ids of the topics that were made."""
        assert not any(topic.error_code for topic in answer.topics)
        self.ids = {
            topic.name: UUID(int=broker.find_topic(topic.name).topic_id.int) for topic in answer.topics
        }

    def run_threads(self) -> bool:
        """Do the work of threads; return whether there was any."""
        some, self._work = self._work, []
        while some:
            work, done = some.pop(0)
            error: Exception | None = None
            try:
                work()
            except Exception as failure:  # noqa: BLE001  (as in a thread)
                error = failure
            done(error)
            del work, done
            if not some:
                return True
        return False

    def measured(self, steps: WaitingSteps) -> WaitingSteps:
        """Return the steps, each of which is measured."""
        while True:
            before, place = sys.getallocatedblocks(), _place(steps)
            try:
                waits = next(steps)
            except StopIteration as end:
                value = end.value
                self._note(place, "its end", before)
                return value
            self._note(place, _place(steps), before)
            yield waits

    def _note(self, place: str, after: str, before: int) -> None:
        size = abs(sys.getallocatedblocks() - before)
        key = f"{place} ==> {after}"
        if size > self.sizes.get(key, 0):
            self.sizes[key] = size

    def request(self, cls: type[Any], version: int, path: Path, count: int, *, known: bool) -> Any:
        """Return a request whose array at the path has `count` elements, about topics that exist or not."""
        return self._message(cls, version, path, count, 0, SimpleNamespace(known=known, deep=len(path) > 1))

    def _message(self, cls: type[Any], version: int, path: Path, count: int, number: int, how: Any) -> Any:
        values: dict[str, Any] = {}
        for field in declaration(cls).fields:
            if version not in field.versions or field.tag is not None:
                continue
            kind = field.kind
            if isinstance(kind, ArrayOf):
                rest = path[1:] if path and path[0] == field.name else ()
                is_wide = path == (field.name,)
                values[field.name] = [
                    self._element(field.name, kind.element, version, rest, count, element, how)
                    for element in (range(count) if is_wide else [number])
                ]
            elif isinstance(kind, type):
                values[field.name] = (
                    None
                    if version in field.nullable
                    else self._message(kind, version, (), count, number, how)
                )
            else:
                values[field.name] = self._value(field.name, kind, field.default, number, how)
        return cls(**values)

    def _element(
        self, name: str, kind: Any, version: int, path: Path, count: int, number: int, how: Any
    ) -> Any:
        if isinstance(kind, type):
            return self._message(kind, version, path, count, number, how)
        single = "topic" if name in TOPIC_LISTS else "partition"
        return self._value(single, kind, REQUIRED, number, how)

    def _value(self, name: str, kind: Any, default: Any, number: int, how: Any) -> Any:
        topic = WIDE if how.deep else f"t{number % self.topics}"
        if kind is schema.Uuid:
            return self.ids[topic] if how.known else UUID(int=number + 12_345)
        if kind is schema.String:
            if name in TOPIC_FIELDS:
                return topic if how.known else f"unknown-{number}"
            fixed = {"member_id": "", "protocol_type": "consumer"}
            return fixed.get(name, f"x{number}")
        if kind is schema.Bytes:
            return b"x"
        if kind is schema.Records:
            return bytes(batch(b"v"))
        if kind is schema.Bool:
            return False
        assert isinstance(kind, Fixed)
        if name in PARTITION_FIELDS and not how.deep:
            return 0  # of each topic the only one
        if name in PARTITION_FIELDS:
            return number if kind.size_bytes > 1 else number % 128
        return NUMBERS.get(name, default if isinstance(default, int | float) else 0)


class WideGateway(Wide, Gateway):
    """A broker with many topics."""

    def __init__(self, partitions: int, topics: int) -> None:
        self._begin(topics)
        super().__init__(**ROOM)
        self.break_things()
        self._learn(self.broker, self.client().call(self._creation(partitions), 7))

    def _open(self) -> Broker:
        return open_broker(
            self.disk,
            self.config,
            random=Random(1),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            offload=lambda work, done: self._work.append((work, done)),
        )

    def settle(self) -> None:
        """Run disk work, threads and steps until nothing is left to do."""
        while self.run_threads() or self.run_jobs() or self.broker.scheduler.pending:
            self.broker.scheduler.run()


class WideCluster(Wide, Cluster):
    """Two nodes with many topics; the partitions are led by both."""

    _is_started = False

    def __init__(self, partitions: int, topics: int) -> None:
        self._begin(topics)
        super().__init__(2, **ROOM)
        self._is_started = True
        self._learn(self[0].broker, self[0].client().call(self._creation(partitions), 7))

    def offload(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        """Have a thread work when nothing else is left to do."""
        if self._is_started:
            self._work.append((work, done))
        else:
            super().offload(work, done)

    def settle(self) -> None:
        """Run both nodes, and their threads, until nothing is left to do."""
        super().settle()
        while self.run_threads():
            super().settle()


def measuring(gateway: Wide, monkeypatch: Any) -> None:
    """Have every step measured from now on; the collector would free what others left."""
    begin, add_work = Scheduler.begin, Scheduler.add_work
    monkeypatch.setattr(
        Scheduler, "begin", lambda self, call, steps: begin(self, call, gateway.measured(steps))
    )
    monkeypatch.setattr(Scheduler, "add_work", lambda self, steps: add_work(self, gateway.measured(steps)))
    gc.disable()


def _place(steps: Any) -> str:
    """Return where steps have stopped, as `file:line > file:line`."""
    places = []
    while getattr(steps, "gi_frame", None) is not None:
        frame = steps.gi_frame
        places.append(f"{'/'.join(frame.f_code.co_filename.split('/')[-3:])}:{frame.f_lineno}")
        steps = steps.gi_yieldfrom
    return " > ".join(places)
