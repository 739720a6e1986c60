"""A gateway under a load, with a good client beside it: what the client noticed and what memory it took."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from compat_tests.batches import Batch
from compat_tests.broker import Broker
from compat_tests.overload.good_client import TOPIC, percentile, round_trips
from compat_tests.requests import produce
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client

MIB = 1 << 20

LARGE_BATCHES = 60
"""Batches of 1 MiB in the topic that slow readers ask for: more than the 55 MiB of one answer."""

SETTLE_SECONDS = 60.0
STEADY_SECONDS = 15.0
"""Memory that has not fallen for this long stays as it is: what allocators keep, they keep."""
STEADY_MIB = 0.25


@dataclass(frozen=True)
class Figures:
    """The figures measured; times in milliseconds, memory in MiB."""

    load: str
    did: str
    p50_before: float
    p99_before: float
    p50_during: float
    p99_during: float
    worst_during: float
    p99_after: float
    waited_for_core: float
    """Seconds in which the gateway could have run, but other processes did: how busy the machine was."""
    memory_before: float
    memory_during: float
    memory_after: float

    @property
    def line(self) -> str:
        """The figures for people."""
        return (
            f"{self.load}: {self.did}\n"
            f"    good client p50 {self.p50_before:.1f} -> {self.p50_during:.1f} ms,"
            f" p99 {self.p99_before:.1f} -> {self.p99_during:.1f} -> {self.p99_after:.1f} ms,"
            f" worst {self.worst_during:.0f} ms\n"
            f"    the gateway waited {self.waited_for_core:.1f} s for a core\n"
            f"    memory {self.memory_before:.0f} -> {self.memory_during:.0f} -> {self.memory_after:.0f} MiB"
        )


def measure(broker: Broker, load: str, *, seconds: float, seed: int, seconds_before: float = 10.0) -> Figures:
    """Put the load on the broker for this long; measure the good client alone before and after.

    A short round before warms up what is loaded at its first use. Memory afterwards is read when it is back
    to a tenth above what it was, or stops falling, or after a minute.
    """
    prepare(broker, load)
    round_trips(broker, min(seconds, 2))
    with loaded(broker, load, seconds=1, seed=seed):
        round_trips(broker, 1)
    before = round_trips(broker, min(seconds, seconds_before))
    memory_before, waited_before = memory_of(broker), broker.process.queued_seconds()
    with loaded(broker, load, seconds=seconds, seed=seed + 1) as process:
        during = round_trips(broker, max(1.0, seconds - 1))
        memory_during = memory_of(broker)
        waited = broker.process.queued_seconds() - waited_before
        did = _output(process, within_seconds=seconds + 60)
    after = round_trips(broker, min(seconds, seconds_before))
    return Figures(
        load=load,
        did=did,
        p50_before=1000 * percentile(before, 0.5),
        p99_before=1000 * percentile(before, 0.99),
        p50_during=1000 * percentile(during, 0.5),
        p99_during=1000 * percentile(during, 0.99),
        worst_during=1000 * max(during),
        p99_after=1000 * percentile(after, 0.99),
        waited_for_core=waited,
        memory_before=memory_before,
        memory_during=memory_during,
        memory_after=_memory_when_settled(broker, 1.1 * memory_before),
    )


def prepare(broker: Broker, load: str) -> None:
    """Create what the good client and the load need."""
    create_topic(broker, TOPIC)
    if load == "slow-readers":
        create_topic(broker, "large", 1, {"max.message.bytes": str(2 * MIB)})
        with raw_client(broker) as client:
            for _ in range(LARGE_BATCHES):
                assert produce(client, "large", Batch(values=[b"x" * MIB])).error_code == 0


@contextmanager
def loaded(broker: Broker, load: str, *, seconds: float, seed: int) -> Iterator[subprocess.Popen[str]]:
    """Run the load in a process, from when it is there to when it ends."""
    command = [
        sys.executable,
        "-m",
        "compat_tests.overload.loads",
        load,
        str(broker.port),
        str(seconds),
        str(seed),
    ]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parents[2]
    ) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line == "going\n", f"the load {load} did not begin: {line!r}"
            yield process
        finally:
            process.kill()


def _output(process: subprocess.Popen[str], *, within_seconds: float) -> str:
    output, _ = process.communicate(timeout=within_seconds)
    assert process.returncode == 0, f"the load ended with {process.returncode}"
    return output.strip()


def memory_of(broker: Broker) -> float:
    """Return the memory that the broker's process holds now, in MiB."""
    return _status(broker, "VmRSS")


def peak_memory_of(broker: Broker) -> float:
    """Return the most memory that it held, in MiB."""
    return _status(broker, "VmHWM")


def _status(broker: Broker, name: str) -> float:
    text = Path(f"/proc/{broker.process.pid}/status").read_text()
    found = re.search(rf"^{name}:\s+(\d+) kB", text, re.MULTILINE)
    assert found
    return int(found[1]) / 1024


def _memory_when_settled(broker: Broker, goal: float) -> float:
    deadline = time.monotonic() + SETTLE_SECONDS
    lowest, fell_at = memory_of(broker), time.monotonic()

    def settled() -> bool:
        nonlocal lowest, fell_at
        now = memory_of(broker)
        if now < lowest - STEADY_MIB:
            lowest, fell_at = now, time.monotonic()
        steady = time.monotonic() - fell_at > STEADY_SECONDS
        return now <= goal or steady or time.monotonic() > deadline

    eventually(settled, waiting_for="memory to be given back", within_seconds=SETTLE_SECONDS + 5)
    return memory_of(broker)
