"""The bench of a measurement: one server, and loads in processes of their own."""

from __future__ import annotations

import json
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from itertools import count
from typing import Any

from benchmarks import proc
from benchmarks.clients import wire
from benchmarks.clients.jobs import READY, Figures, Job
from benchmarks.scale import Scale
from benchmarks.servers import HOST, Server

LOAD_LIMIT_SECONDS = 240.0
"""A load that takes this long is stopped and counts as failed."""


class MeasurementError(Exception):
    """A load ended without its figures; the text is what it printed."""


@dataclass(slots=True)
class Cost:
    """CPU time the server used, filled in when the measured block has ended."""

    cpu_seconds: float = 0.0
    other_cpu_share: float = 0.0
    """The share of the machine's cores used by neither server nor loads: kernel threads, other processes."""


class Load:
    """One running load generator."""

    def __init__(self, kind: str, job: Job) -> None:
        """Start the process."""
        self._what = f"{kind} {job.topic}"
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.clients", kind, json.dumps(asdict(job))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        """Wait for the ready line of a load that waits for its start."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if line.strip() != READY:
            raise MeasurementError(f"{self._what}: {line}{self._process.communicate()[1][-2_000:]}")

    def is_ready(self) -> bool:
        """Return whether the ready line has come, without waiting.

        Raises: MeasurementError if the load has ended instead.
        """
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], 0)[0]:
            return False
        self.wait_until_ready()
        return True

    def has_ended(self) -> bool:
        """Return whether the process has ended; `figures` then does not wait."""
        return self._process.poll() is not None

    def start(self) -> None:
        """Start a ready load."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def figures(self) -> Figures:
        """Wait for the end and return what the load measured.

        Raises: MeasurementError if it failed or took too long.
        """
        try:
            output, problems = self._process.communicate(timeout=LOAD_LIMIT_SECONDS)
        except subprocess.TimeoutExpired:
            self.stop()
            raise MeasurementError(f"{self._what}: stopped after {LOAD_LIMIT_SECONDS:.0f} s") from None
        if self._process.returncode:
            raise MeasurementError(f"{self._what}: {problems.strip()[-2_000:]}")
        answer: Figures = json.loads(output.splitlines()[-1])
        return answer

    def stop(self) -> None:
        """End the process if it still runs."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.communicate()


@dataclass(slots=True)
class Bench:
    """A server under measurement."""

    server: Server
    scale: Scale
    _serial_numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def new_topic(self, partitions: int) -> str:
        """Create a topic that was never used before."""
        name = f"bench-{next(self._serial_numbers)}"
        connection = wire.Connection(HOST, self.server.port)
        try:
            connection.create_topic(name, partitions)
        finally:
            connection.close()
        return name

    @property
    def address(self) -> dict[str, Any]:
        """Host and port, as every job wants them."""
        return {"host": HOST, "port": self.server.port}

    def run(self, kind: str, job: Job) -> Figures:
        """Run one load to its end."""
        return Load(kind, job).figures()

    def run_ready(self, kind: str, job: Job) -> tuple[Figures, Cost]:
        """Run one load that waits for its start: the server's cost is then that of the timed part alone."""
        load = Load(kind, job)
        try:
            load.wait_until_ready()
            with self.cost() as cost:
                load.start()
                return load.figures(), cost
        finally:
            load.stop()

    @contextmanager
    def cost(self) -> Iterator[Cost]:
        """Measure the CPU time that the server's process tree, and other processes, use inside the block."""
        cost = Cost()
        before, machine_before, own_before = self._cpu_now()
        started = time.monotonic()
        yield cost
        seconds = time.monotonic() - started
        after, machine_after, own_after = self._cpu_now()
        cost.cpu_seconds = after - before
        others = (machine_after - machine_before) - cost.cpu_seconds - (own_after - own_before)
        cost.other_cpu_share = max(0.0, others / (seconds * proc.CORES))

    def _cpu_now(self) -> tuple[float, float, float]:
        """Return the CPU seconds of the server, of the whole machine, and of this process with its loads."""
        return proc.cpu_seconds(self.server.pid), proc.machine_cpu_seconds(), proc.own_cpu_seconds()
