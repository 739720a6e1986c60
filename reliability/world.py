"""A gateway under fault, its clients, and the judgement at the end; every rig works on one of these."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from random import Random
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.broker import HOST, free_port
from compat_tests.kawal_broker import KAWAL, READY
from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually
from reliability.asyncio_clients import AsyncioReader, AsyncioWriter
from reliability.block_device import BlockDevice
from reliability.check import FINAL, Check
from reliability.clients import (
    COMPACTED,
    PARTITIONS,
    PLAIN,
    RETAINED,
    TOPICS,
    Actor,
    PythonReader,
    PythonWriter,
    RdkafkaWriter,
    Reader,
    key_of,
    record_of,
)
from reliability.history import History
from reliability.program_clients import ProgramReader, ProgramWriter
from reliability.proxy import FaultProxy
from reliability.transactional_clients import TransactionalWriter

SETTINGS: Final = {
    "kawal.segment.bytes": str(1 << 20),
    "log.retention.check.interval.ms": "2000",
    "log.segment.delete.delay.ms": "1000",
    "log.cleaner.backoff.ms": "1000",
    "kawal.min.free.bytes": str(8 << 20),
}
"""Small segments and short intervals: every run rolls, checkpoints, compacts and deletes."""

CAUGHT_UP_SECONDS: Final = 120
"""The time in which a reader must have read everything once nothing is broken any more."""

READERS_SEEN_EVERY: Final = 10
"""The faults after which all readers must have come to the end before anything else is broken."""

TOPIC_CONFIGS: Final = {
    PLAIN: {},
    COMPACTED: {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.1", "segment.ms": "1000"},
    RETAINED: {"retention.bytes": "200000", "internal.segment.bytes": "50000"},
}


def is_end(error: Any) -> bool:
    """Whether a message of librdkafka tells the end of its partition."""
    return error is not None and error.code() == KafkaError._PARTITION_EOF


class World:
    """One gateway and its clients."""

    def __init__(
        self,
        directory: Path,
        seed: int,
        *,
        data: Path | None = None,
        wrapper: tuple[str, ...] = (),
        settings: Mapping[str, str] | None = None,
        rate: float = 300,
    ) -> None:
        """Prepare; `wrapper` is put before the server's command."""
        self.directory = directory
        self.seed = seed
        self.random = Random(seed)
        self.history = History(directory / "history.jsonl")
        self.data = data or directory / "data"
        self.port = free_port()
        self.settings = {**SETTINGS, **(settings or {})}
        self.wrapper = wrapper
        self.rate = rate
        self.client_bootstrap = self.bootstrap
        self.ready_seconds: list[float] = []
        self.process: ServerProcess | None = None
        self.programs: tuple[str, ...] = ()
        """The producers of compat_tests/clients that write, too, such as `java`."""
        self.proxy: FaultProxy | None = None
        """What stands between the clients and the server, if anything does."""
        self.device: BlockDevice | None = None
        """The block device under the data, if it is one of ours."""
        self.cgroup: Path | None = None
        """The memory cgroup of the server, if it has one of its own."""
        self._actors: list[Actor] = []
        self._advertised: list[str] = []
        self._waits = 0

    def advertise(self, host: str, port: int) -> None:
        """Let clients connect to another address, which passes on to the server."""
        self._advertised = ["--advertise", f"{host}:{port}"]
        self.client_bootstrap = f"{host}:{port}"

    @property
    def bootstrap(self) -> str:
        """The server's address."""
        return f"{HOST}:{self.port}"

    def launch(self, wrapper: tuple[str, ...] | None = None) -> ServerProcess:
        """Start the process and do not wait."""
        command = [KAWAL, "serve", "--listen", self.bootstrap, "--data", str(self.data), "--http", "none"]
        for name, value in {"kawal.console.listeners": "none", **self.settings}.items():
            command += ["--set", f"{name}={value}"]
        command += self._advertised
        before = self.wrapper if wrapper is None else wrapper
        self.process = ServerProcess(
            [*before, *command], log_path=self.directory / "server.log", environment={}
        )
        return self.process

    def start(self, *, within_seconds: float = 240) -> None:
        """Start the server and wait until it is ready."""
        began = time.monotonic()
        self.launch().wait_for_line(READY, within_seconds=within_seconds)
        self.ready_seconds.append(time.monotonic() - began)

    def make_topics(self) -> None:
        """Create the topics of the workload."""
        admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 0})
        topics = [NewTopic(name, PARTITIONS, config=TOPIC_CONFIGS[name]) for name in TOPICS]
        for future in admin.create_topics(topics).values():
            future.result(30)

    def start_clients(self) -> None:
        """Start four producers and three consumers of different libraries, and both of `programs`."""
        address = self.client_bootstrap
        self._actors = [
            RdkafkaWriter("librdkafka-writer", address, self.history, self.seed, self.rate),
            PythonWriter("kafka-python-writer", address, self.history, self.seed, self.rate),
            AsyncioWriter("aiokafka-writer", address, self.history, self.seed, self.rate / 3),
            Reader("librdkafka-reader", address, self.history),
            AsyncioReader("aiokafka-reader", address, self.history),
            PythonReader("kafka-python-reader", address, self.history),
            TransactionalWriter("transactional-writer", address, self.history, self.seed),
            *(ProgramReader(name, address, self.history, self.directory) for name in self.programs),
            *(
                ProgramWriter(name, address, self.history, self.seed, self.directory)
                for name in self.programs
            ),
        ]
        for actor in self._actors:
            actor.start()

    def wait_for_acks(self, count: int, *, within_seconds: float = 240) -> None:
        """Wait until so many more sends are acknowledged, and now and then until all readers caught up."""
        goal = self.history.acknowledged + count
        eventually(
            lambda: self.history.acknowledged >= goal,
            waiting_for=f"{count} more acknowledgements",
            within_seconds=within_seconds,
        )
        self._waits += 1
        if self._waits % READERS_SEEN_EVERY == 0:
            self._wait_for_readers()

    def judge(self) -> Check:
        """End the clients on a healthy server, read everything again, and check the history."""
        self._wait_for_readers()
        for actor in self._actors:
            actor.stop()
        for actor in self._actors:
            actor.join(90)
        starts = self.read_all()
        self.history.close()
        compacted = frozenset(key_of(COMPACTED, number) for number in range(PARTITIONS))
        return Check(self.history.ops, log_starts=starts, compacted=compacted)

    def _wait_for_readers(self) -> None:
        """Wait until every reader has come to what is acknowledged now: none hangs after a fault.

        Raises: AssertionError, which names the readers that lag.
        """
        goals = {key: offset for key, offset in self.history.newest.items() if key.startswith(f"{PLAIN}-")}
        readers = [actor.name for actor in self._actors if actor.name.endswith("-reader")]

        def lagging() -> list[tuple[str, str, int, int]]:
            reached = self.history.reached
            return [
                (reader, key, reached.get((reader, key), -1), goal)
                for reader in readers
                for key, goal in goals.items()
                if reached.get((reader, key), -1) < goal
            ]

        eventually(
            lambda: not lagging(),
            waiting_for="all readers to catch up",
            within_seconds=CAUGHT_UP_SECONDS,
            last=lagging,
        )

    def read_all(self) -> dict[str, int]:
        """Read the committed records of every partition, from log start to end; return the log starts."""
        settings = {
            "bootstrap.servers": self.bootstrap, "group.id": "librdkafka-reader", "log_level": 0,
            "enable.auto.commit": False, "auto.offset.reset": "error", "enable.partition.eof": True,
        }  # fmt: skip
        consumer = Consumer({**settings, "isolation.level": "read_committed"})
        # The end is that of all records: what an open transaction holds back must become readable.
        ends = Consumer({**settings, "isolation.level": "read_uncommitted"})
        starts = {}
        places = [TopicPartition(topic, number) for topic in TOPICS for number in range(PARTITIONS)]
        for place in consumer.committed(places, timeout=30):
            key = key_of(place.topic, place.partition)
            # The offset is negative where no commit is known; an acknowledged one must be.
            self.history.add("librdkafka-reader", "committed", "ok", key=key, offset=max(place.offset, -1))
        for place in places:
            key = key_of(place.topic, place.partition)
            starts[key] = self._read_partition(consumer, ends, place, f"{FINAL}-{key}")
        consumer.close()
        ends.close()
        return starts

    def _read_partition(self, consumer: Any, ends: Any, place: Any, process: str) -> int:
        """Read a partition to its end; return the first offset kept."""
        low, high = ends.get_watermark_offsets(place, timeout=30)
        consumer.assign([TopicPartition(place.topic, place.partition, low)])
        self.history.add(process, "assign", "ok")
        deadline, position = time.monotonic() + 60, low
        while position < high:
            if time.monotonic() > deadline:
                raise AssertionError(f"{place} is read up to {position} of {high} after 60 s")
            found = consumer.consume(1_000, timeout=1)
            records = [record_of(message) for message in found if message.error() is None]
            if records:
                self.history.add(process, "poll", "ok", records=tuple(records))
            # The client's position does not move over the ends of transactions; the end of a partition does.
            ended = [message.offset() for message in found if is_end(message.error())]
            position = max(position, *ended, *(place.offset for place in consumer.position([place])))
        # Retention may have moved on meanwhile: what it took is not lost.
        return int(ends.get_watermark_offsets(place, timeout=30)[0])

    def close(self) -> None:
        """End whatever still runs."""
        for actor in self._actors:
            actor.stop()
        if self.process is not None:
            self.process.kill()
