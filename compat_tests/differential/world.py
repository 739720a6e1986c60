"""The topics of one sequence: its own, so that sequences do not meet, and the steps that make them."""

from __future__ import annotations

from random import Random

from compat_tests.batches import Batch
from compat_tests.differential.steps import BASE_MS, Step, Steps, topic_id
from compat_tests.requests import ZERO
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

FOR_EVER = {"retention.ms": "-1"}
"""The records have a fixed time in the past: no retention may reach them while the sequence runs."""


class World:
    """The names a sequence uses.

    `one` and `three` (by their partitions), `stamped` (LogAppendTime), `keyed` (compacted), `gone` (deleted),
    `never` (not created).
    """

    def __init__(self, prefix: str, random: Random) -> None:
        """Begin every name with `prefix`; `random` makes every choice of the sequence."""
        self.prefix = prefix
        self.random = random
        self.one, self.three, self.stamped, self.keyed, self.gone, self.never = (
            f"{prefix}-{name}" for name in ("one", "three", "stamped", "keyed", "gone", "never")
        )

    @property
    def existing(self) -> list[str]:
        """The topics that `create` leaves."""
        return [self.one, self.three, self.stamped, self.keyed]

    def create(self) -> Steps:
        """Make the topics."""
        yield create_topics(
            new_topic(self.one, 1),
            new_topic(self.three, 3),
            new_topic(self.stamped, 1, {"message.timestamp.type": "LogAppendTime"}),
            new_topic(self.keyed, 1, {"cleanup.policy": "compact"}),
            new_topic(self.gone, 2),
        )
        yield Step(DeleteTopicsRequest(topic_names=[self.gone], timeout_ms=10_000), 5)

    def fill(self) -> Steps:
        """Put a few batches into `one`, `three`-0 and `three`-1, and `stamped`."""
        for number in range(3):
            yield produce_step({(self.one, 0): batch(3, number), (self.three, 0): batch(1 + number, number)})
        yield produce_step({(self.three, 1): batch(5, 7), (self.stamped, 0): batch(2, 0)})

    def destroy(self) -> Steps:
        """Delete what `create` made."""
        yield Step(DeleteTopicsRequest(topic_names=self.existing, timeout_ms=10_000), 5)

    def names(self) -> list[str]:
        """Return names to ask for, the existing ones more often than those that no topic has or can have."""
        return [
            *self.existing * 4,
            self.gone,
            self.never,
            self.one.replace("-", "_"),
            self.one.upper(),
            "",
            ".",
            "..",
            f"{self.prefix} blank",
            f"{self.prefix}-{'x' * 249}"[:249],
            f"{self.prefix}-{'x' * 249}"[:250],
            f"{self.prefix}-ü",
            f"{self.prefix}/a",
        ]

    def ids(self) -> list[object]:
        """Return ids to ask for."""
        existing = [topic_id(name) for name in self.existing]
        return [*existing * 3, topic_id(self.gone), topic_id(self.never), ZERO]


def new_topic(
    name: str, partitions: int, configs: dict[str, str | None] | None = None, replicas: int = 1
) -> CreatableTopic:
    """Return a topic whose records no retention reaches."""
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        assignments=[],
        configs=[
            CreatableTopicConfig(name=key, value=value) for key, value in (FOR_EVER | (configs or {})).items()
        ],
    )


def create_topics(*topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> Step:
    """Create topics in one request."""
    request = CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=validate_only)
    return Step(request, version)


def batch(count: int, number: int = 0, **fields: object) -> Batch:
    """Return `count` records, `number` seconds after the others' first, a millisecond apart."""
    made = Batch(
        values=[f"value {number}.{i}".encode() for i in range(count)],
        base_timestamp=BASE_MS + number * 1000,
        timestamp_deltas=list(range(count)),
    )
    return made.but(**fields)


def produce_step(
    records: dict[tuple[str, int], Batch | bytes | None],
    *,
    version: int = 9,
    acks: int = -1,
    transactional_id: str | None = None,
) -> Step:
    """Produce to partitions by (topic, index); from v13 on by the ids of the first topics of their names."""
    topics: dict[str, list[PartitionProduceData]] = {}
    for (name, index), data in records.items():
        topics.setdefault(name, []).append(PartitionProduceData(index=index, records=data))  # type: ignore[arg-type]
    topic_data = [
        TopicProduceData(name="" if version >= 13 else name, topic_id=topic_id(name), partition_data=parts)
        if version >= 13
        else TopicProduceData(name=name, partition_data=parts)
        for name, parts in topics.items()
    ]
    request = ProduceRequest(
        transactional_id=transactional_id, acks=acks, timeout_ms=10_000, topic_data=topic_data
    )
    return Step(request, version)
