"""The master: it produces jobs, starts workers, kills some of them and the server, and waits for the end."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final

from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType

from compat_tests.broker import Broker
from compat_tests.confluent import make_producer
from compat_tests.groups import admin_of
from compat_tests.kawal_broker import KAWAL
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.worker_pool.notes import notes_of
from compat_tests.worker_pool.verdict import Verdict, judge

PARTITIONS: Final = 2
WORKERS: Final = 12
SERVER_KILLS: Final = 5
GROUP: Final = "workers"
TOPIC: Final = "jobs"
DELIVERIES_MAX: Final = 10
"""More than the workers and servers that are killed while they have a job that is not to blame."""
WATCH_EVERY_SECONDS: Final = 0.5


class Worker:
    """One process with a member."""

    def __init__(self, broker: Broker, directory: Path, number: int, lock_seconds: float) -> None:
        self.name = f"worker-{number}"
        self.notes = directory / f"notes-{number}"
        self.notes.touch()
        self.ended: float | None = None
        words = [broker.bootstrap, GROUP, TOPIC, str(self.notes), self.name, str(lock_seconds)]
        with (directory / "workers.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "compat_tests.worker_pool.worker", *words], stdout=log, stderr=log
            )

    def has_ended(self) -> bool:
        """Whether it has ended, and note when."""
        if self.ended is None and self._process.poll() is not None:
            self.ended = time.monotonic()
        return self.ended is not None

    def kill(self) -> None:
        """End it at once."""
        self.ended = time.monotonic()
        self._process.kill()
        self._process.wait()

    def leave(self) -> None:
        """Let it leave; kill it if it does not within half a minute."""
        self._process.send_signal(signal.SIGTERM)
        try:
            self._process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()


class WorkerPool:
    """One run."""

    def __init__(
        self, broker: Broker, directory: Path, *, jobs: int, lock_seconds: float, seed: int = 1
    ) -> None:
        self._broker = broker
        self._directory = directory
        self._jobs = jobs
        self._lock_seconds = lock_seconds
        self._chance = Random(seed)
        self._workers: list[Worker] = []
        self._all: list[Worker] = []
        self._server_kills: list[float] = []

    def run(
        self, *, within_seconds: float, kill_every_seconds: float, tell: Callable[[str], object]
    ) -> Verdict:
        """Have all jobs done while workers and the server are killed.  Raises: AssertionError."""
        create_topic(self._broker, TOPIC, PARTITIONS)
        self._configure()
        began = time.monotonic()
        try:
            self._watch(began + within_seconds, kill_every_seconds, tell)
        finally:
            for worker in self._workers:
                worker.leave()
        tell(f"{time.monotonic() - began:.1f} s for {self._jobs} jobs, {len(self._all)} workers started")
        eventually(self._all_left, waiting_for="no worker to be Running")
        return judge(
            (note for worker in self._all for note in notes_of(worker.notes)),
            self._jobs,
            ended={worker.name: worker.ended for worker in self._all if worker.ended is not None},
            server_kills=self._server_kills,
            lock_seconds=self._lock_seconds,
        )

    def _configure(self) -> None:
        settings = {
            "share.auto.offset.reset": "earliest",
            "share.record.lock.duration.ms": f"{round(self._lock_seconds * 1000)}",
            "share.delivery.count.limit": f"{DELIVERIES_MAX}",
        }
        entries = [
            ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
            for name, value in settings.items()
        ]
        resource = ConfigResource(ResourceType.GROUP, GROUP, incremental_configs=entries)
        admin = admin_of(self._broker)
        for future in admin.incremental_alter_configs([resource]).values():
            future.result(60)

    def _produce(self, part: int) -> None:
        """Produce one part of the jobs, of SERVER_KILLS + 1."""
        producer = make_producer(self._broker)
        for job in range(part, self._jobs, SERVER_KILLS + 1):
            producer.produce(TOPIC, b"%d" % job, partition=job % PARTITIONS)
            if not job % 1_000:
                producer.poll(0)
        assert producer.flush(60) == 0

    def _all_left(self) -> bool:
        return all(member["status"] != "Running" for member in self.described()["members"])

    def described(self) -> dict[str, Any]:
        """Return the group as `kawal queues describe` shows it."""
        (row,) = json.loads(self._kawal("describe", GROUP, "--json"))
        return dict(row)

    def _kawal(self, *words: str) -> str:
        done = subprocess.run(
            [KAWAL, "queues", *words, "--bootstrap", self._broker.bootstrap],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def _left(self) -> int:
        """Return the number of jobs that are not finished; before the group exists, all of them."""
        rows = {row["group"]: row for row in json.loads(self._kawal("list", "--json"))}
        row = rows.get(GROUP)
        return self._jobs if row is None or row["backlog"] is None else int(row["backlog"])

    # --- disturbances ---------------------------------------------------------------------------------------

    def _watch(self, deadline: float, kill_every_seconds: float, tell: Callable[[str], object]) -> None:
        """Produce the jobs in parts, and kill the server amid each but the last, until no job is left."""
        next_kill = time.monotonic() + kill_every_seconds
        server_at = time.monotonic()
        produced = kills = 0
        while True:
            self._fill()
            now = time.monotonic()
            if produced == kills and kills <= SERVER_KILLS:
                self._produce(produced)
                produced += 1
                server_at = time.monotonic() + self._chance.uniform(0.2, kill_every_seconds)
            elif kills < SERVER_KILLS and now >= server_at:
                left = self._left()
                self._kill_server()
                kills += 1
                tell(f"{left} jobs left of {produced} parts: killed the server and started it again")
            elif kills == SERVER_KILLS and not self._left():
                return
            if now >= next_kill:
                next_kill = now + kill_every_seconds
                victim = self._workers.pop(self._chance.randrange(len(self._workers)))
                victim.kill()
                tell(f"killed {victim.name}")
            assert now < deadline, f"{self._left()} of {self._jobs} jobs are left"
            time.sleep(WATCH_EVERY_SECONDS)

    def _fill(self) -> None:
        self._workers = [worker for worker in self._workers if not worker.has_ended()]
        while len(self._workers) < WORKERS:
            worker = Worker(self._broker, self._directory, len(self._all), self._lock_seconds)
            self._workers.append(worker)
            self._all.append(worker)

    def _kill_server(self) -> None:
        self._server_kills.append(time.monotonic())
        self._broker.kill()
        self._broker.restart()
        self._server_kills.append(time.monotonic())
