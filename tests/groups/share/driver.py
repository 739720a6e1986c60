"""The driver of a share coordinator in these tests: a log, a clock, topics, and short requests.

Everything is durable at once, unless `hold` is set.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from uuid import UUID

from groups.effects import Effects, EncodedRecord
from groups.share.acknowledgements import acknowledgement
from groups.share.config import ShareConfig
from groups.share.coordinator import ShareCoordinator
from groups.share.delivery import AcquireMode, Limits, Wish
from groups.share.found import Acquired, Found
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode

TOPIC_ID = UUID("00112233-4455-6677-8899-aabbccddeeff")

KEY = ShareKey("g", TOPIC_ID, 0)

WALL_MS = 1_700_000_000_000

LIMITS = Limits(lock_ms=1_000, delivery_count_max=5, in_flight_max=200)


@dataclass
class Topic:
    name: str
    topic_id: UUID
    partition_count: int = 4
    recorded: bool = True


@dataclass
class Topics:
    by_name: dict[str, Topic] = field(default_factory=dict)
    by_id: dict[UUID, Topic] = field(default_factory=dict)

    def add(self, name: str, topic_id: UUID) -> None:
        self.by_name[name] = self.by_id[topic_id] = Topic(name, topic_id)


class Driver:
    """A coordinator and the world around it."""

    def __init__(self, *, partitions: int = 1, snapshot_after: int = 3, limits: Limits = LIMITS) -> None:
        self.config = ShareConfig(
            share_coordinator_state_topic_num_partitions=partitions,
            share_coordinator_snapshot_update_records_per_snapshot=snapshot_after,
        )
        self.limits = limits
        self.topics = Topics()
        self.topics.add("jobs", TOPIC_ID)
        self.now_ms = 0
        self.log: list[list[EncodedRecord]] = [[] for _ in range(partitions)]
        self.hold = False
        self.in_flight: deque[Effects] = deque()
        self.machine = self.start()

    def start(self) -> ShareCoordinator:
        """Start a coordinator and replay the log into it."""
        machine = ShareCoordinator(
            config=self.config,
            topics=self.topics,
            limits=lambda _: self.limits,
            wall_ms=lambda now_ms: WALL_MS + now_ms,
        )
        for partition, records in enumerate(self.log):
            for key, value in records:
                machine.replay(partition, key, value)
        machine.loaded(range(len(self.log)), self.now_ms)
        return machine

    def restart(self) -> None:
        """Lose all that is not in the log, and start again."""
        self.in_flight.clear()
        self.machine = self.start()
        self.pump()

    def pump(self) -> None:
        """Store what the machine wants stored."""
        while effects := self.machine.take_effects():
            self.in_flight.extend(effects)
            if not self.hold:
                self.store()

    def store(self, count: int | None = None) -> None:
        """Make what is in flight durable, or the first so many."""
        for _ in range(len(self.in_flight) if count is None else count):
            effects = self.in_flight.popleft()
            self.log[effects.partition] += effects.records
            self.machine.durable(effects, self.now_ms)

    def lose(self) -> None:
        """Fail all that is in flight."""
        while self.in_flight:
            effects = self.in_flight.popleft()
            if not effects.settled:
                self.machine.failed(effects, ErrorCode.KAFKA_STORAGE_ERROR, self.now_ms)
        self.pump()

    def advance(self, duration_ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + duration_ms
        while (due_ms := self.machine.next_deadline()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.machine.tick(self.now_ms)
            self.pump()
        self.now_ms = end_ms

    # --- requests -------------------------------------------------------------------------------------------

    def initialize(self, start: int = 0, key: ShareKey = KEY) -> list[ErrorCode]:
        answers: list[ErrorCode] = []
        self.machine.initialize(key, start, answers.append, self.now_ms)
        self.pump()
        return answers

    def acquire(
        self, member_id: str, log_end: int, max_records: int = 10, key: ShareKey = KEY
    ) -> list[Acquired]:
        """Fetch from a log with one record in each batch."""
        partition = self.machine.find(key)
        assert partition is not None
        first = partition.next_fetch_offset()
        batches = [(offset, offset) for offset in range(first, log_end)]
        wish = Wish(member_id, max_records, max_records, AcquireMode.BATCH_OPTIMIZED)
        return self.machine.acquire(key, wish, Found(first, batches, log_end), self.now_ms)

    def say(self, member_id: str, first: int, last: int, *types: int, key: ShareKey = KEY) -> list[ErrorCode]:
        answers: list[ErrorCode] = []
        said = [acknowledgement(first, last, types)]
        self.machine.acknowledge(key, member_id, said, answers.append, self.now_ms)
        self.pump()
        return answers

    def shown(self, key: ShareKey = KEY) -> list[tuple[int, int, str, int]]:
        partition = self.machine.find(key)
        assert partition is not None
        return [
            (part.first, part.last, part.facts.state.name.lower(), part.facts.delivery_count)
            for part in partition.ranges
        ]
