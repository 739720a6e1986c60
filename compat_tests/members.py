"""Members of groups, each polled in a thread of its own, as applications do, whatever their library.

kafka-python must not be polled by turns with others in one thread: a join that ends between two polls is
thrown away at the next one, which joins again (3.0.12: join_group_async makes a new join task when the
last one `is_done`, awaited or not). As the leader it thereby begins a new rebalance, and other members that
answer only while they are polled make it end between two polls for ever. So it does with Apache Kafka, too.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, Protocol, TypeVar

from aiokafka import AIOKafkaConsumer
from confluent_kafka import Consumer
from kafka import KafkaConsumer

from compat_tests.broker import Broker
from compat_tests.waiting import eventually

T = TypeVar("T")

POLL_SECONDS = 0.1

Place = tuple[str, int]
"""Topic and partition."""


class Seen(NamedTuple):
    """A record as a member has got it."""

    topic: str
    partition: int
    offset: int
    value: bytes


class Library(Protocol):
    """A consumer of some library; all calls come from one thread."""

    consumer: Any

    def poll(self) -> Iterable[Seen]:
        """Wait for records, at most for POLL_SECONDS."""

    def held(self) -> Iterable[Place]:
        """What it holds."""

    def commit(self) -> None:
        """Commit all that it has returned, and wait for that."""

    def close(self) -> None:
        """Leave the group."""


class KafkaPython:
    """kafka-python: knows its topics before it joins, since as leader it assigns only what it knows."""

    def __init__(self, broker: Broker, group_id: str, topics: list[str], **settings: Any) -> None:
        self.consumer = KafkaConsumer(
            bootstrap_servers=broker.bootstrap,
            group_id=group_id,
            **{
                "enable_auto_commit": False,
                "auto_offset_reset": "earliest",
                "session_timeout_ms": 6_000,
                "heartbeat_interval_ms": 250,
                **settings,
            },
        )
        for topic in topics:
            eventually(lambda t=topic: self.consumer.partitions_for_topic(t), waiting_for=f"topic {topic}")  # type: ignore[misc]
        self.consumer.subscribe(topics)

    def poll(self) -> list[Seen]:
        polled = self.consumer.poll(timeout_ms=int(POLL_SECONDS * 1_000))
        return [
            Seen(one.topic, one.partition, one.offset, one.value) for part in polled.values() for one in part
        ]

    def held(self) -> list[Place]:
        return [(one.topic, one.partition) for one in self.consumer.assignment()]

    def commit(self) -> None:
        self.consumer.commit()

    def close(self) -> None:
        self.consumer.close()


class Confluent:
    """confluent-kafka; `group_protocol="consumer"` for KIP-848."""

    def __init__(self, broker: Broker, group_id: str, topics: list[str], **settings: Any) -> None:
        wanted = {name.replace("_", "."): value for name, value in settings.items()}
        classic = wanted.get("group.protocol", "classic") == "classic"
        times = {"session.timeout.ms": 6_000, "heartbeat.interval.ms": 250} if classic else {}
        self.consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "log_level": 2,
                "group.id": group_id,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                **times,
                **wanted,
            }
        )
        self.consumer.subscribe(topics)

    def poll(self) -> list[Seen]:
        seen = []
        for one in self.consumer.consume(500, timeout=POLL_SECONDS):
            if one.error() is not None:
                raise AssertionError(one.error())
            seen.append(Seen(one.topic(), one.partition(), one.offset(), one.value()))
        return seen

    def held(self) -> list[Place]:
        return [(one.topic, one.partition) for one in self.consumer.assignment()]

    def commit(self) -> None:
        self.consumer.commit(asynchronous=False)

    def close(self) -> None:
        self.consumer.close()


class Aiokafka:
    """aiokafka: its loop runs while it is polled, and a member is polled all the time."""

    def __init__(self, broker: Broker, group_id: str, topics: list[str], **settings: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._loop.run_until_complete(self._start(broker, group_id, topics, settings))

    async def _start(
        self, broker: Broker, group_id: str, topics: list[str], settings: dict[str, Any]
    ) -> None:
        self.consumer = AIOKafkaConsumer(
            *topics,
            bootstrap_servers=broker.bootstrap,
            group_id=group_id,
            **{
                "enable_auto_commit": False,
                "auto_offset_reset": "earliest",
                "session_timeout_ms": 6_000,
                "heartbeat_interval_ms": 250,
                **settings,
            },
        )
        await self.consumer.start()

    def poll(self) -> list[Seen]:
        polled = self._loop.run_until_complete(self.consumer.getmany(timeout_ms=int(POLL_SECONDS * 1_000)))
        return [
            Seen(one.topic, one.partition, one.offset, one.value) for part in polled.values() for one in part
        ]

    def held(self) -> list[Place]:
        return [(one.topic, one.partition) for one in self.consumer.assignment()]

    def commit(self) -> None:
        self._loop.run_until_complete(self.consumer.commit())

    def close(self) -> None:
        self._loop.run_until_complete(self.consumer.stop())
        self._loop.close()


class Member:
    """A consumer with its thread. What it has got is in `records`, what went wrong in `error`.

    As a context manager it leaves the group at the end and tells what went wrong.
    """

    def __init__(self, make: Callable[[], Library], *, commits: bool = False) -> None:
        """Begin at once; with `commits` everything returned is committed before the next poll."""
        self.records: list[Seen] = []
        self.error: BaseException | None = None
        self._commits = commits
        self._held: frozenset[Place] = frozenset()
        self._asked: SimpleQueue[tuple[Callable[[Any], Any], Future[Any]]] = SimpleQueue()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, args=[make], daemon=True)
        self._thread.start()

    def held(self) -> set[Place]:
        """What it held after its last poll."""
        self.check()
        return set(self._held)

    def partitions(self) -> list[int]:
        """The numbers of the partitions it holds, in order."""
        return sorted(partition for _, partition in self.held())

    def call(self, function: Callable[[Any], T]) -> T:
        """Call a function with the library's consumer between two polls and return its answer."""
        done: Future[T] = Future()
        self._asked.put((lambda library: function(library.consumer), done))
        return self._answer(done)

    def commit(self) -> None:
        """Commit everything in `records`."""
        done: Future[None] = Future()
        self._asked.put((lambda library: library.commit(), done))
        self._answer(done)

    def leave(self) -> None:
        """Close the consumer; it may have been closed before."""
        self._stopping.set()
        self._thread.join(30)
        assert not self._thread.is_alive(), "a consumer did not close within 30 s"
        self._held = frozenset()

    def check(self) -> None:
        """Raise what went wrong in the thread."""
        if self.error is not None:
            raise self.error

    def __enter__(self) -> Member:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self.leave()
        if error is None:
            self.check()

    def _answer(self, done: Future[T]) -> T:
        def answered() -> bool:
            self.check()
            return done.done()

        eventually(answered, waiting_for="a call of a consumer", within_seconds=30)
        return done.result()

    def _run(self, make: Callable[[], Library]) -> None:
        try:
            library = make()
            try:
                while not self._stopping.is_set():
                    self._step(library)
            finally:
                library.close()
        except BaseException as error:  # noqa: BLE001 - told to whoever asks next
            self.error = error

    def _step(self, library: Library) -> None:
        self._answer_calls(library)
        seen = list(library.poll())
        self.records += seen
        self._held = frozenset(library.held())
        if seen and self._commits:
            library.commit()

    def _answer_calls(self, library: Library) -> None:
        while True:
            try:
                function, done = self._asked.get_nowait()
            except Empty:
                return
            try:
                done.set_result(function(library))
            except Exception as error:  # noqa: BLE001 - belongs to whoever has asked
                done.set_exception(error)


def sizes(members: Iterable[Member]) -> list[int] | None:
    """How many partitions each holds, smallest first; None while one is held twice."""
    parts = [one.held() for one in members]
    if len(set().union(*parts)) != sum(map(len, parts)):
        return None
    return sorted(map(len, parts))


def wait_for_sizes(members: Iterable[Member], wanted: list[int]) -> None:
    """Wait until the members hold so many partitions, in any order, each partition once."""
    present = list(members)
    eventually(
        lambda: sizes(present) == wanted,
        waiting_for=f"shares {wanted}",
        within_seconds=45,
        last=lambda: [one.held() for one in present],
    )
