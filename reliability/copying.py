"""Exactly once under kills: seeded messages, copied in transactions while copiers and the gateway are killed.

    python -m reliability copies --dose 100000

Three copiers (reliability/copier.py; with `--programs java` one of them over Kafka's own client, which
speaks the newer protocol of transactions) copy 9 partitions; at random moments one of them, or the gateway,
is killed or stopped, and started again. In the end every message is in the output once, in the order of the
input, as readers of committed data see it. The dose counts messages.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from compat_tests.clients.registry import java_client
from compat_tests.kawal_broker import READY
from compat_tests.process import ServerProcess
from reliability.copier import GROUP, INPUT, OUTPUT, PARTITIONS
from reliability.world import World

COPIERS: Final = 3
JAVA: Final = "java"
"""The program of another language that has a copier, compat_tests/clients/java/src/Copier.java."""

MESSAGES_PER_TROUBLE: Final = 1_250
"""Messages for each kill or stop: some 80 of them in 100,000."""

SETTINGS: Final = {"group.min.session.timeout.ms": "1000", "group.initial.rebalance.delay.ms": "500"}
"""A copier that was killed is missed after two seconds."""

LOOK_SECONDS: Final = 5
"""Between two looks at the copiers."""

STILL_SECONDS: Final = 120
"""Without progress for so long, transactions hang."""


class Copying:
    """The copiers of one run, and their supervisor."""

    def __init__(self, world: World, messages: int) -> None:
        self._world = world
        self._messages = messages
        self._processes: dict[str, ServerProcess] = {}
        self.counts = {"copier_kills": 0, "copier_stops": 0, "server_kills": 0, "server_stops": 0}
        self.restarts = 0
        self._observer = Consumer({"bootstrap.servers": world.bootstrap, "group.id": GROUP, "log_level": 0})

    def run(self) -> dict[str, Any]:
        """Copy everything; return the counts.  Raises: AssertionError when a message is lost or doubled."""
        self._fill()
        for number in range(COPIERS):
            # The last ones are those of other languages, if any were asked for.
            rest = COPIERS - number
            programs = self._world.programs
            self._start(f"{programs[-rest]}-{number}" if rest <= len(programs) else f"copier-{number}")
        self._copy_all()
        for process in self._processes.values():
            process.terminate(within_seconds=60)
        self._check()
        return {"messages": self._messages, "copier_restarts": self.restarts, **self.counts}

    def close(self) -> None:
        """End the copiers that still run."""
        for process in self._processes.values():
            process.kill()

    def _fill(self) -> None:
        admin = AdminClient({"bootstrap.servers": self._world.bootstrap, "log_level": 0})
        for future in admin.create_topics([NewTopic(name, PARTITIONS) for name in (INPUT, OUTPUT)]).values():
            future.result(30)
        producer = Producer({"bootstrap.servers": self._world.bootstrap, "linger.ms": 5})
        for number in range(self._messages):
            producer.produce(INPUT, str(number).encode(), partition=number % PARTITIONS)
            producer.poll(0)
        assert producer.flush(60) == 0

    def _start(self, name: str) -> None:
        self._processes[name] = ServerProcess(
            self._command(name),
            log_path=self._world.directory / f"{name}.log",
            environment={"PYTHONPATH": str(Path(__file__).parent.parent)},
        )

    def _command(self, name: str) -> list[str]:
        arguments = (self._world.bootstrap, name, str(self._world.seed))
        if name.startswith(JAVA):
            return java_client("Copier", *arguments, INPUT, OUTPUT, GROUP)
        return [sys.executable, "-m", "reliability.copier", *arguments]

    # --- trouble --------------------------------------------------------------------------------------------

    def _copy_all(self) -> None:
        copied = next_trouble = 0
        moved = time.monotonic()
        while copied < self._messages:
            time.sleep(self._world.random.uniform(0.02, 0.3))
            if copied >= next_trouble:
                next_trouble += self._world.random.randint(1, 2 * MESSAGES_PER_TROUBLE)
                self._trouble()
            self._supervise()
            now = self._copied()
            if now > copied:
                copied, moved = now, time.monotonic()
            assert time.monotonic() - moved < STILL_SECONDS, f"stuck at {copied} of {self._messages}"
        self._observer.close()

    def _trouble(self) -> None:
        hard = self._world.random.random() < 0.6
        if self._world.random.random() < 0.3:
            process = self._world.process
            assert process is not None
            self._end(process, "server", hard=hard)
            self._world.launch().wait_for_line(READY, within_seconds=60)
        else:
            name = self._world.random.choice(sorted(self._processes))
            self._end(self._processes[name], "copier", hard=hard)
            self._start(name)

    def _end(self, process: ServerProcess, what: str, *, hard: bool) -> None:
        self.counts[f"{what}_{'kills' if hard else 'stops'}"] += 1
        if hard:
            process.kill()
        else:
            process.terminate(within_seconds=60)

    def _supervise(self) -> None:
        for name, process in list(self._processes.items()):
            if process.exit_code is not None:
                self.restarts += 1
                self._start(name)

    def _copied(self) -> int:
        """Return the progress of the group, as stable offsets tell it; 0 while they are not known.

        They are not while a transaction is open: if its copier has ended by itself, it must be started again.
        """
        places = [TopicPartition(INPUT, index) for index in range(PARTITIONS)]
        try:
            found = self._observer.committed(places, timeout=LOOK_SECONDS)
        except KafkaException as error:
            if error.args[0].code() != KafkaError._TIMED_OUT:
                raise
            return 0
        return sum(max(place.offset, 0) for place in found)

    # --- the end --------------------------------------------------------------------------------------------

    def _check(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._world.bootstrap, "group.id": "judge", "log_level": 0,
                "isolation.level": "read_committed", "enable.auto.commit": False,
            }
        )  # fmt: skip
        try:
            for index in range(PARTITIONS):
                expected = list(range(index, self._messages, PARTITIONS))
                found = self._read(consumer, index, len(expected))
                assert found == expected, _difference(index, expected, found)
        finally:
            consumer.close()

    @staticmethod
    def _read(consumer: Consumer, index: int, count: int) -> list[int]:
        """Read a partition of the output until its last message has come, and a moment longer."""
        consumer.assign([TopicPartition(OUTPUT, index, 0)])
        found: list[int] = []
        deadline = time.monotonic() + 60
        while time.monotonic() < deadline:
            messages = consumer.consume(10_000, timeout=1.0)
            found += [int(message.value() or b"") for message in messages if message.error() is None]
            if not messages and len(found) >= count:
                break
        return found


def _difference(index: int, expected: list[int], found: list[int]) -> str:
    missing = sorted(set(expected) - set(found))
    return (
        f"partition {index}: {len(found)} messages for {len(expected)}; missing {missing[:10]},"
        f" {len(found) - len(set(found))} doubled, in order: {found == sorted(found)}"
    )


def copy(world: World, dose: float) -> dict[str, Any]:
    """Copy as many messages as the dose says."""
    copying = Copying(world, int(dose))
    try:
        return copying.run()
    finally:
        copying.close()
