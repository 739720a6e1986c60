"""The master: it starts workers and producers, kills some of them and the server, and waits for the end."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from compat_tests.broker import Broker
from compat_tests.churn.notes import notes_of
from compat_tests.churn.verdict import Verdict, judge
from compat_tests.churn.worker import SECOND
from compat_tests.confluent import make_producer
from compat_tests.groups import committed_of
from compat_tests.topics import create_topic
from compat_tests.views import make_view
from compat_tests.waiting import eventually

PARTITIONS: Final = 24
PRODUCERS: Final = 3
WORKERS: Final = 7
"""With three members each: 21."""

VIEW: Final = "SELECT _offset AS n FROM churn"
"""A view that evaluates every record, and shows it at its offset."""

MIXES: Final = (
    ("kafka-python", "confluent", "aiokafka"),
    ("kafka-python", "confluent-848", "aiokafka"),
)
BETWEEN_KILLS_SECONDS: Final = (2.0, 7.0)
BETWEEN_SERVER_KILLS_SECONDS: Final = 45.0
WRITE_EVERY_SECONDS: Final = 0.02
CAUGHT_UP_WITHIN_SECONDS: Final = 120.0
GROUP: Final = "churned"


class Worker:
    """One process with members."""

    def __init__(self, broker: Broker, directory: Path, topics: list[str], number: int) -> None:
        self.notes = directory / f"notes-{number}"
        self.notes.touch()
        words = [broker.bootstrap, GROUP, ",".join(topics), str(self.notes), str(number)]
        words += MIXES[number % len(MIXES)]
        with (directory / "workers.log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "compat_tests.churn.worker", *words], stdout=log, stderr=log
            )

    def end(self) -> None:
        """Let it leave; kill it if it does not within half a minute."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it at once."""
        self.process.kill()
        self.process.wait()


class Churn:
    """One run."""

    def __init__(
        self, broker: Broker, directory: Path, *, seed: int, workers: int = WORKERS, reads_view: bool = False
    ) -> None:
        self._broker = broker
        self._directory = directory
        self._chance = Random(seed)
        self._topic = create_topic(broker, "churn", PARTITIONS)
        # The members read the view beside the topic.
        self._topics = [self._topic, *([make_view(broker, "churned.view", VIEW)] if reads_view else [])]
        self._worker_count = workers
        self._workers: list[Worker] = []
        self._all: list[Worker] = []
        self._writing = threading.Event()
        self._written: dict[int, int] = dict.fromkeys(range(PARTITIONS), 0)

    def run(self, seconds: float, *, tell: Callable[[str], object] = lambda _: None) -> Verdict:
        """Churn for this long, then read to the end. Raises: AssertionError."""
        try:
            self._writing.set()
            producers = [threading.Thread(target=self._write, args=[number]) for number in range(PRODUCERS)]
            for producer in producers:
                producer.start()
            for _ in range(self._worker_count):
                self._start_worker()
            self._disturb(seconds, tell)
            self._writing.clear()
            for producer in producers:
                producer.join(60)
                assert not producer.is_alive(), "a producer could not deliver what it has written"
            self._wait_until_all_is_read()
        finally:
            self._writing.clear()
            for worker in self._workers:
                worker.end()
        try:
            return judge((note for worker in self._all for note in notes_of(worker.notes)), self._ends())
        except AssertionError as error:
            for line in (self._directory / "workers.log").read_text().splitlines():
                if "out of range" in line:
                    error.add_note(line)
            raise

    def _start_worker(self) -> None:
        worker = Worker(self._broker, self._directory, self._topics, len(self._all))
        self._workers.append(worker)
        self._all.append(worker)

    def _disturb(self, seconds: float, tell: Callable[[str], object]) -> None:
        """Kill a process now and then, and sometimes the server; replace them at once."""
        began = time.monotonic()
        server_at = min(BETWEEN_SERVER_KILLS_SECONDS, seconds / 2)
        while (now := time.monotonic() - began) < seconds:
            time.sleep(min(self._chance.uniform(*BETWEEN_KILLS_SECONDS), max(0.0, seconds - now)))
            if now >= server_at:
                server_at = now + BETWEEN_SERVER_KILLS_SECONDS
                self._broker.kill()
                self._broker.restart()
                tell(f"{now:.0f} s: killed the server and started it again")
            victim = self._workers.pop(self._chance.randrange(len(self._workers)))
            victim.kill()
            self._start_worker()
            tell(f"{now:.0f} s: killed a process with three members and started another")

    # --- producers -------------------------------------------------------------------------------------

    def _write(self, number: int) -> None:
        chance = Random(number)
        producer = make_producer(self._broker, enable_idempotence=True)
        written = 0
        while self._writing.is_set():
            for _ in range(4):
                written += 1
                producer.produce(
                    self._topic,
                    b"%d-%d" % (number, written),
                    partition=chance.randrange(PARTITIONS),
                    on_delivery=self._delivered,
                )
            producer.poll(WRITE_EVERY_SECONDS)
            time.sleep(WRITE_EVERY_SECONDS)
        producer.flush(50)

    def _delivered(self, error: Any, message: Any) -> None:
        assert error is None, error
        self._written[message.partition()] = max(self._written[message.partition()], message.offset() + 1)

    # --- the end ---------------------------------------------------------------------------------------

    def _ends(self) -> dict[int, int]:
        """Return the ends of all partitions, by their numbers in the notes."""
        return {
            SECOND * place + index: end
            for place in range(len(self._topics))
            for index, end in self._written.items()
        }

    def _wait_until_all_is_read(self) -> None:
        """Wait until the group has committed everything."""
        wanted = {number: end for number, end in self._ends().items() if end}
        eventually(
            lambda: self._committed() == wanted,
            waiting_for="everything written to be committed",
            within_seconds=CAUGHT_UP_WITHIN_SECONDS,
            last=lambda: behind(wanted, self._committed()),
        )

    def _committed(self) -> dict[int, int]:
        return {
            SECOND * place + index: offset
            for place, topic in enumerate(self._topics)
            for index, offset in committed_of(self._broker, GROUP, topic).items()
        }


def behind(wanted: dict[int, int], committed: dict[int, int]) -> dict[int, tuple[int, int]]:
    """Return, for the partitions not read to the end, what is committed and what was written."""
    return {
        index: (committed.get(index, -1), end) for index, end in wanted.items() if committed.get(index) != end
    }
