"""A second coordinator besides that of the groups: named counters, kept as records in a topic of its own.

An operation adds to two counters of one partition at once, by one batch of two records; after a crash both
have grown, or neither.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping
from typing import ClassVar

from broker.catalogue.topic_admin import NewTopic
from broker.coordinators.runtime import CoordinatorRuntime
from groups.context import InternalError
from groups.effects import Effects, EncodedRecord, Journal, Stamp
from protocol.error_codes import ErrorCode
from tests.broker.gateway import Gateway

TOPIC = "__toy_state"
PARTITIONS = 2

Reply = Callable[[ErrorCode | None], None]


class Counters:
    """Counters by name; the first letter of a name decides its partition."""

    modules: ClassVar[Mapping[str, str]] = {}
    """The modules that records need, by the name of the counter."""

    def __init__(self, partition_count: int) -> None:
        self.partition_count = partition_count
        self.values: dict[str, int] = {}
        self.durable_values: dict[str, int] = {}
        self.serving: set[int] = set()
        self.seen_topics: list[tuple[str, str]] = []
        self.ticks: list[int] = []
        self.due_ms: int | None = None
        self.breaks: str | None = None
        self.errors: list[InternalError] = []
        self._journal = Journal()

    def partition_of(self, name: str) -> int:
        return ord(name[0]) % self.partition_count

    def add(self, first: str, second: str, amount: int, reply: Reply) -> None:
        """Add to two counters of the same partition."""
        partition = self.partition_of(first)
        assert partition == self.partition_of(second)
        if partition not in self.serving:
            reply(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
            return
        before = dict(self.values)
        records: list[EncodedRecord] = []
        for name in (first, second):
            self.values[name] = self.values.get(name, 0) + amount
            records.append((name.encode(), str(self.values[name]).encode()))

        def undo() -> None:
            self.values = before

        self._journal.write(partition, records, [undo], lambda error, _now_ms: reply(error))

    def take_effects(self) -> list[Effects]:
        return self._journal.take()

    def durable(self, effects: Effects, now_ms: int) -> None:
        self._journal.durable(effects, now_ms)
        for key, value in effects.records:
            assert value is not None
            self.durable_values[key.decode()] = int(value)

    def failed(self, effects: Effects, error: ErrorCode, now_ms: int) -> None:
        self._journal.failed(effects, error, now_ms)

    def replay(self, partition: int, key: bytes | memoryview, value: bytes | memoryview | None) -> tuple[()]:
        assert value is not None
        self.values[bytes(key).decode()] = int(bytes(value))
        return ()

    def needs_module(self, key: bytes | memoryview) -> str:
        return self.modules.get(bytes(key).decode(), "")

    def replay_staged(
        self, partition: int, stamp: Stamp, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> None:
        """Counters are not transactional."""

    def replay_end(self, partition: int, producer_id: int, *, commit: bool) -> tuple[()]:
        """Counters are not transactional."""
        return ()

    def loaded(self, partitions: Collection[int], now_ms: int) -> None:
        self.serving |= set(partitions)

    def leave_to_others(self, partitions: Collection[int]) -> None:
        self.elsewhere = frozenset(partitions)

    def unload(self, partitions: Collection[int], now_ms: int) -> None:
        self.serving -= set(partitions)
        for name in [name for name in self.values if self.partition_of(name) in partitions]:
            del self.values[name]
        self._journal.abandon(partitions, ErrorCode.NOT_COORDINATOR, now_ms)

    def discard(self, now_ms: int) -> Generator[None, None, None]:
        self.unload(range(PARTITIONS), now_ms)
        yield

    def is_whole(self, partition: int) -> bool:
        return partition in self.serving

    def snapshot(self, partition: int, records_max: int) -> Iterator[list[EncodedRecord]]:
        names = [name for name in self.values if self.partition_of(name) == partition]
        for start in range(0, len(names), records_max):
            yield [
                (name.encode(), str(self.values[name]).encode())
                for name in names[start : start + records_max]
            ]

    def topics_changed(
        self, now_ms: int, *, created: Collection[str], deleted: Collection[str], grown: Collection[str]
    ) -> None:
        for change, names in (("created", created), ("deleted", deleted), ("grown", grown)):
            self.seen_topics += [(change, name) for name in names]

    def take_internal_errors(self) -> list[InternalError]:
        errors, self.errors = self.errors, []
        return errors

    def tick(self, now_ms: int) -> None:
        self.ticks.append(now_ms)
        self.due_ms = None
        if self.breaks is not None:
            # The state is half changed when the error comes up.
            self.values[self.breaks] = -1
            self.errors.append(
                InternalError(self.partition_of(self.breaks), self.breaks, ZeroDivisionError())
            )
            self.breaks = None

    def next_deadline(self) -> int | None:
        return self.due_ms


class CountersKind:
    """Makes machines of counters."""

    topic_name = TOPIC

    def new_topic(self) -> NewTopic:
        return NewTopic(name=TOPIC, partition_count=PARTITIONS, configs={"cleanup.policy": "compact"})

    def new_machine(self, partition_count: int) -> Counters:
        return Counters(partition_count)

    def configure(self, machine: Counters, partition_count: int) -> None:
        raise AssertionError("counters have no settings")


def toy_of(gateway: Gateway) -> CoordinatorRuntime[Counters]:
    """Return a runtime of counters besides the broker's own coordinators."""
    broker = gateway.broker
    return CoordinatorRuntime(CountersKind(), broker, broker, gateway.now_ms)


def add(
    gateway: Gateway, toy: CoordinatorRuntime[Counters], first: str, second: str, amount: int
) -> list[ErrorCode | None]:
    """Add to two counters; the answer appears in the list."""
    answers: list[ErrorCode | None] = []
    with toy.step(gateway.now_ms) as counters:
        counters.add(first, second, amount, answers.append)
    return answers


def values_of(gateway: Gateway, toy: CoordinatorRuntime[Counters]) -> dict[str, int]:
    with toy.step(gateway.now_ms) as counters:
        return dict(counters.values)
