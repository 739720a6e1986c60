"""Consumers of several libraries behind one interface, for tests that claim the same of all of them.

Settings go by one set of names: `reset` (earliest, latest, none), `commit_every_ms` (None: only when asked),
`session_ms`, `max_poll_ms`, `instance_id`. All calls to one consumer come from one thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer
from aiokafka import TopicPartition as AioPlace
from aiokafka.errors import NoOffsetForPartitionError as AioNoOffset
from confluent_kafka import Consumer, KafkaError, KafkaException
from confluent_kafka import TopicPartition as ConfluentPlace
from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.errors import NoOffsetForPartitionError, RebalanceInProgressError

from compat_tests.waiting import eventually

T = TypeVar("T")

POLL_SECONDS: Final = 0.1

Place = tuple[str, int]
"""Topic and partition."""


class Addressed(Protocol):
    """The part of a broker that a consumer needs."""

    @property
    def bootstrap(self) -> str:
        """HOST:PORT."""


class NoPosition(Exception):
    """Nothing is committed, and the consumer was told not to begin anywhere else."""


class Rebalancing(Exception):
    """The consumer cannot commit now; after some polls it may commit what it still holds."""


class Seen(NamedTuple):
    """A record as a member gets it."""

    topic: str
    partition: int
    offset: int
    value: bytes


class Settings(NamedTuple):
    """The settings of a member."""

    reset: str | None = "earliest"
    """None: the library's default."""
    commit_every_ms: int | None = None
    session_ms: int = 30_000
    """Longer than a busy machine may stop a member or the broker."""
    max_poll_ms: int = 300_000
    instance_id: str | None = None
    loses_topics: bool = False
    """A topic of its subscription is deleted: librdkafka reports it once, as an error, and goes on."""


class Library(Protocol):
    """A consumer of some library."""

    consumer: Any

    def poll(self) -> Iterable[Seen]:
        """Wait for records, at most for POLL_SECONDS.  Raises: NoPosition."""

    def held(self) -> Iterable[Place]:
        """Return the partitions that it holds."""

    def subscribe(self, topics: Sequence[str]) -> None:
        """Subscribe to these topics instead of the last ones; one that begins with ^ is a pattern."""

    def unsubscribe(self) -> None:
        """Leave the group without closing."""

    def commit(self, offsets: dict[Place, int] | None = None) -> None:
        """Commit offsets, or all that it has returned, and wait for the answer. Raises: Rebalancing."""

    def committed(self, place: Place) -> int | None:
        """Return what the group has committed."""

    def position(self, place: Place) -> int:
        """Return the offset that it reads next."""

    def seek(self, place: Place, offset: int) -> None:
        """Read from this offset next."""

    def close(self) -> None:
        """Leave the group."""


class KafkaPython:
    """kafka-python; it knows its topics before it joins, since as leader it assigns only what it knows."""

    def __init__(self, broker: Addressed, group_id: str, topics: Sequence[str], settings: Settings) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            group_id=group_id,
            group_instance_id=settings.instance_id,
            enable_auto_commit=settings.commit_every_ms is not None,
            auto_commit_interval_ms=settings.commit_every_ms or 5_000,
            **({"auto_offset_reset": settings.reset} if settings.reset else {}),
            session_timeout_ms=settings.session_ms,
            max_poll_interval_ms=settings.max_poll_ms,
            heartbeat_interval_ms=250,
            metadata_max_age_ms=500,
            allow_auto_create_topics=False,
        )
        self.subscribe(topics)
        wanted = {topic for topic in topics if not topic.startswith("^")}
        eventually(lambda: wanted <= self.consumer.topics(), waiting_for=f"metadata of {wanted}")

    def poll(self) -> list[Seen]:
        try:
            polled = self.consumer.poll(timeout_ms=int(POLL_SECONDS * 1_000))
        except NoOffsetForPartitionError as error:
            raise NoPosition from error
        self._mend_membership()
        return [
            Seen(record.topic, record.partition, record.offset, record.value)
            for part in polled.values()
            for record in part
        ]

    def _mend_membership(self) -> None:
        """Let it join again when a bug of 3.0.12 has made it forget that it was joining.

        A join that new metadata have begun, and that outlasts the poll it began in, never ends: no flag says
        that it is due, and the metadata it was due for are known by then. The consumer stays in REBALANCING,
        without heartbeats, until its session has expired. That happens with any broker.
        """
        coordinator = self.consumer._coordinator
        task = coordinator._join_task
        if task is not None and task.is_done and not coordinator.need_rejoin():
            coordinator.request_rejoin()

    def held(self) -> list[Place]:
        return [(place.topic, place.partition) for place in self.consumer.assignment()]

    def subscribe(self, topics: Sequence[str]) -> None:
        if topics[0].startswith("^"):
            self.consumer.subscribe(pattern=topics[0])
        else:
            self.consumer.subscribe(list(topics))

    def unsubscribe(self) -> None:
        self.consumer.unsubscribe()

    def commit(self, offsets: dict[Place, int] | None = None) -> None:
        wanted = offsets and {
            TopicPartition(*place): OffsetAndMetadata(at, "", -1) for place, at in offsets.items()
        }
        try:
            self.consumer.commit(wanted)
        except RebalanceInProgressError as error:
            raise Rebalancing from error

    def committed(self, place: Place) -> int | None:
        found: int | None = self.consumer.committed(TopicPartition(*place))
        return found

    def position(self, place: Place) -> int:
        return int(self.consumer.position(TopicPartition(*place)))

    def seek(self, place: Place, offset: int) -> None:
        self.consumer.seek(TopicPartition(*place), offset)

    def close(self) -> None:
        self.consumer.close(autocommit=False)


_RESETS = {"earliest": "earliest", "latest": "latest", "none": "error"}


class Confluent:
    """confluent-kafka with the classic protocol."""

    protocol = "classic"
    max_poll_ms_min = 0
    """The shortest `max.poll.interval.ms` it takes; 0: that of the session."""

    def __init__(self, broker: Addressed, group_id: str, topics: Sequence[str], settings: Settings) -> None:
        classic = {"session.timeout.ms": settings.session_ms, "heartbeat.interval.ms": 250}
        self.consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "log_level": 2,
                "group.id": group_id,
                "group.protocol": self.protocol,
                "enable.auto.commit": settings.commit_every_ms is not None,
                "auto.commit.interval.ms": settings.commit_every_ms or 5_000,
                **({"auto.offset.reset": _RESETS[settings.reset]} if settings.reset else {}),
                "max.poll.interval.ms": max(
                    settings.max_poll_ms, self.max_poll_ms_min or settings.session_ms
                ),
                "topic.metadata.refresh.interval.ms": 500,
                **({"group.instance.id": settings.instance_id} if settings.instance_id else {}),
                **(classic if self.protocol == "classic" else {}),
            }
        )
        self._passed_over = {KafkaError._MAX_POLL_EXCEEDED}
        if settings.loses_topics:
            self._passed_over.add(KafkaError.UNKNOWN_TOPIC_OR_PART)
        self.subscribe(topics)

    def poll(self) -> list[Seen]:
        seen = []
        for message in self.consumer.consume(500, timeout=POLL_SECONDS):
            error = message.error()
            if error is None:
                seen.append(Seen(message.topic(), message.partition(), message.offset(), message.value()))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise NoPosition(error)
            elif error.code() not in self._passed_over and not error.retriable():
                raise KafkaException(error)
        return seen

    def held(self) -> list[Place]:
        return [(place.topic, place.partition) for place in self.consumer.assignment()]

    def subscribe(self, topics: Sequence[str]) -> None:
        self.consumer.subscribe(list(topics))

    def unsubscribe(self) -> None:
        self.consumer.unsubscribe()

    def commit(self, offsets: dict[Place, int] | None = None) -> None:
        if offsets is not None:
            places = [ConfluentPlace(*place, at) for place, at in offsets.items()]
            self.consumer.commit(offsets=places, asynchronous=False)
            return
        try:
            self.consumer.commit(asynchronous=False)
        except KafkaException as error:
            code = error.args[0].code()
            # A commit waits for one new coordinator only: when that is lost as well, it is for the caller.
            if code == KafkaError._WAIT_COORD:
                raise Rebalancing from error
            if code != KafkaError._NO_OFFSET:  # nothing has come since the last commit
                raise

    def committed(self, place: Place) -> int | None:
        (found,) = self.consumer.committed([ConfluentPlace(*place)], timeout=60)
        return None if found.offset < 0 else int(found.offset)

    def position(self, place: Place) -> int:
        """Return the offset that it reads next; librdkafka knows it after the first record."""
        (found,) = self.consumer.position([ConfluentPlace(*place)])
        return int(found.offset)

    def seek(self, place: Place, offset: int) -> None:
        self.consumer.seek(ConfluentPlace(*place, offset))

    def close(self) -> None:
        self.consumer.close()


class ConfluentNew(Confluent):
    """confluent-kafka with KIP-848."""

    protocol = "consumer"
    max_poll_ms_min = 1


class Aiokafka:
    """aiokafka: its loop runs while it is polled, and a member is polled all the time."""

    def __init__(self, broker: Addressed, group_id: str, topics: Sequence[str], settings: Settings) -> None:
        self._loop = asyncio.new_event_loop()
        self._do(self._start(broker, group_id, topics, settings))

    async def _start(
        self, broker: Addressed, group_id: str, topics: Sequence[str], settings: Settings
    ) -> None:
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            group_id=group_id,
            group_instance_id=settings.instance_id,
            enable_auto_commit=settings.commit_every_ms is not None,
            auto_commit_interval_ms=settings.commit_every_ms or 5_000,
            **({"auto_offset_reset": settings.reset} if settings.reset else {}),
            session_timeout_ms=settings.session_ms,
            max_poll_interval_ms=settings.max_poll_ms,
            heartbeat_interval_ms=250,
            metadata_max_age_ms=500,
        )
        await self._subscribe(topics)
        await self.consumer.start()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def poll(self) -> list[Seen]:
        try:
            polled = self._do(self.consumer.getmany(timeout_ms=int(POLL_SECONDS * 1_000)))
        except AioNoOffset as error:
            raise NoPosition from error
        return [
            Seen(record.topic, record.partition, record.offset, record.value)
            for part in polled.values()
            for record in part
        ]

    def held(self) -> list[Place]:
        return [(place.topic, place.partition) for place in self.consumer.assignment()]

    def subscribe(self, topics: Sequence[str]) -> None:
        self._do(self._subscribe(topics))

    async def _subscribe(self, topics: Sequence[str]) -> None:
        if topics[0].startswith("^"):
            self.consumer.subscribe(pattern=topics[0])
        else:
            self.consumer.subscribe(list(topics))

    def unsubscribe(self) -> None:
        self._do(self._unsubscribe())

    async def _unsubscribe(self) -> None:
        # It begins to leave the group, in the loop.
        self.consumer.unsubscribe()

    def commit(self, offsets: dict[Place, int] | None = None) -> None:
        wanted = None if offsets is None else {AioPlace(*place): at for place, at in offsets.items()}
        self._do(self.consumer.commit(wanted))

    def committed(self, place: Place) -> int | None:
        found: int | None = self._do(self.consumer.committed(AioPlace(*place)))
        return found

    def position(self, place: Place) -> int:
        return int(self._do(self.consumer.position(AioPlace(*place))))

    def seek(self, place: Place, offset: int) -> None:
        self.consumer.seek(AioPlace(*place), offset)

    def close(self) -> None:
        self._do(self.consumer.stop())
        self._loop.close()


MakeLibrary = Callable[[Addressed, str, Sequence[str], Settings], Library]

LIBRARIES: Final[dict[str, MakeLibrary]] = {
    "kafka-python": KafkaPython,
    "confluent": Confluent,
    "confluent-848": ConfluentNew,
    "aiokafka": Aiokafka,
}
"""Every library, by a name that may be part of a topic's."""
