"""A gateway under a load, with good clients beside it: what they noticed, and what it took of the machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from compat_tests.broker import HOST, Broker, answers_api_versions, free_port
from compat_tests.certificates import make_certificates
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.logins import login_settings
from compat_tests.overload.figures import (
    Turn,
    forget_peak,
    internal_errors,
    long_turns,
    memory_of,
    metrics_of,
    peak_memory_of,
    slowest_requests,
)
from compat_tests.overload.good_client import (
    CLIENT_ID,
    KINDS,
    TOPIC,
    GoodClients,
    Round,
    percentile,
)
from compat_tests.overload.load import Load
from compat_tests.tokens import TOKEN_SETTINGS
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

TURN_MS_MAX: Final = 20.0
P99_RATIO_MAX: Final = 2.0
WORST_MS_MAX: Final = 100.0
MEMORY_MIB_MAX: Final = 512.0

SETTLE_SECONDS: Final = 60.0
STEADY_SECONDS: Final = 15.0
"""Memory that has not fallen for this long stays as it is: what allocators keep, they keep."""
STEADY_MIB: Final = 0.25

NORMAL_SECONDS: Final = 1.0
"""Good clients are as before when no round of theirs is slow for this long."""

START_SECONDS: Final = 30.0

PREPARE_SECONDS: Final = 600.0

SLOWEST_SHOWN: Final = 8


@dataclass(frozen=True)
class Times:
    """The round trips of one kind of good client in one part of the measurement, in milliseconds."""

    rounds: int
    p50: float
    p99: float
    worst: float

    @classmethod
    def of(cls, rounds: list[Round]) -> Times:
        """Return the figures of some rounds."""
        took = [1000 * found.took for found in rounds]
        return cls(len(took), percentile(took, 0.5), percentile(took, 0.99), max(took, default=0.0))


@dataclass
class Figures:
    """The figures of a load: times in milliseconds, memory in MiB."""

    load: str
    did: str = ""
    before: dict[str, Times] = field(default_factory=dict)
    during: dict[str, Times] = field(default_factory=dict)
    after: dict[str, Times] = field(default_factory=dict)
    turns: list[Turn] = field(default_factory=list)
    """The turns of the event loop over 20 ms of processor beside the load, as the watchdog logged them."""
    loop_ms: float = 0.0
    """The most processor time of the event loop between a good client's request and its answer."""
    own_ms: float = 0.0
    """The longest round of a good client by itself, however late it began."""
    waited_for_core: float = 0.0
    """Seconds in which the gateway could have run, but other processes did: how busy the machine was."""
    memory_before: float = 0.0
    memory_peak: float = 0.0
    memory_after: float = 0.0
    seconds_until_normal: float = 0.0
    start_seconds: float = 0.0
    """How long the server took to start again on what the load has left; 0: it was not tried."""
    slowest: list[str] = field(default_factory=list)
    """With `explain`: the good clients' requests that took longest beside the load, by phases."""
    faults: list[str] = field(default_factory=list)
    """Whatever no machine excuses: ends, errors of the server's own, wrong answers."""

    @property
    def turn_ms(self) -> int:
        """The most processor time of a turn of the event loop, if it was over the limit of the watchdog."""
        return self.turns[0].cpu_ms if self.turns else 0

    @property
    def broken(self) -> list[str]:
        """The bars that are broken, whatever else the machine does."""
        found = list(self.faults)
        if self.turn_ms > TURN_MS_MAX:
            found.append(f"a turn took {self.turn_ms} ms, by {self.turns[0].work}: {self.turns[0].place}")
        if self.memory_peak > MEMORY_MIB_MAX:
            found.append(f"memory {self.memory_peak:.0f} MiB")
        return found

    @property
    def late(self) -> list[str]:
        """The broken bars of the good clients' times; they are for a machine that does nothing else."""
        found = []
        for kind, times in self.during.items():
            bar = max(1.0, P99_RATIO_MAX * self.before[kind].p99)
            if times.p99 > bar:
                found.append(f"p99 of {kind} {self.before[kind].p99:.1f} -> {times.p99:.1f} ms")
            if times.worst > WORST_MS_MAX:
                found.append(f"worst of {kind} {times.worst:.0f} ms")
        return found

    @property
    def line(self) -> str:
        """The figures for people."""
        lines = [f"{self.load}: {self.did}"]
        for kind, times in self.during.items():
            before, after = self.before[kind], self.after.get(kind, Times.of([]))
            lines.append(
                f"    {kind:10}  p50 {before.p50:7.1f} {times.p50:7.1f} {after.p50:7.1f}"
                f"   p99 {before.p99:7.1f} {times.p99:7.1f} {after.p99:7.1f}"
                f"   worst {before.worst:7.0f} {times.worst:7.0f} {after.worst:7.0f} ms"
            )
        lines.append(
            f"    longest round by itself {self.own_ms:.0f} ms;"
            f" loop {self.loop_ms:.0f} ms before an answer, {len(self.turns)} turns to {self.turn_ms} ms;"
            f" memory {self.memory_before:.0f} -> {self.memory_peak:.0f} -> {self.memory_after:.0f} MiB;"
            f" normal after {self.seconds_until_normal:.1f} s; waited {self.waited_for_core:.1f} s for a core"
            + (f"; started again in {self.start_seconds:.1f} s" if self.start_seconds else "")
        )
        lines += [f"    slow: {request}" for request in self.slowest]
        lines += [f"    BROKEN: {problem}" for problem in self.broken]
        return "\n".join(lines + [f"    late: {problem}" for problem in self.late])

    def as_json(self) -> dict[str, Any]:
        """Return everything in a form for a file."""
        return {**asdict(self), "turn_ms": self.turn_ms, "broken": self.broken, "late": self.late}


def gateway_for(load: Load, directory: Path, *, explain: bool = False) -> KawalBroker:
    """Return a gateway with the settings that the load needs, not yet started, and its metrics on a port.

    With `explain` it logs the good clients' requests, so that the figures say where the slowest waited.
    """
    own = {"kawal.http.listen": f"{HOST}:{free_port()}", "kawal.max.partitions.per.request": "1000000"}
    if explain:
        own |= {"kawal.request.log": CLIENT_ID, "kawal.request.log.rate": "1000"}
    return KawalBroker(directory, {**own, **_security_for(load, directory), **load.settings})


def kafka_for(load: Load, directory: Path) -> KafkaBroker:
    """Return Apache Kafka with the settings that the load needs, not yet started, to compare with."""
    own = {"num.partitions": "1", "socket.request.max.bytes": str(200 << 20)}
    known = {key: value for key, value in load.settings.items() if not key.startswith("kawal.")}
    return KafkaBroker(directory, {**own, **_security_for(load, directory), **known})


def _security_for(load: Load, directory: Path) -> dict[str, str]:
    """Return the settings of listeners SASL, TLS and SECURE, if the load asks for them."""
    if not load.secure:
        return {}
    certificates = make_certificates(directory / "certificates")
    return login_settings(SASL="SASL_PLAINTEXT", TLS="SSL", SECURE="SASL_SSL") | {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(certificates.server),
        **TOKEN_SETTINGS,
    }


def http_port_of(broker: Broker) -> int:
    """Return the port of a gateway's metrics; 0: it has none, as Kafka."""
    return int(broker.settings.get("kawal.http.listen", "0").rpartition(":")[2])


def measure(
    broker: Broker,
    load: Load,
    *,
    seconds: float,
    seed: int,
    factor: float = 1.0,
    seconds_before: float = 5.0,
    settle: bool = True,
) -> Figures:
    """Put the load on the broker for this long; measure the good clients before, beside and after it.

    Memory afterwards is read when it is back to a tenth above what it was, or stops falling, or after a
    minute; or at once, without `settle`.
    """
    figures = Figures(load.name)
    create_topic(broker, TOPIC)
    with prepared(broker, load, seconds=seconds, seed=seed, factor=factor) as process:
        with GoodClients(broker) as good:
            time.sleep(1)
            begun = time.monotonic()
            time.sleep(seconds_before)
            figures.memory_before = memory_of(broker)
            forget_peak(broker)
            waited_before = broker.process.queued_seconds()
            logged = len(broker.process.output())
            loaded_at = time.monotonic()
            _let_go(process)
            figures.did = _end_of(process, figures, within_seconds=seconds + 300)
            over_at = time.monotonic()
            if broker.process.exit_code is None:
                figures.waited_for_core = broker.process.queued_seconds() - waited_before
                figures.memory_peak = peak_memory_of(broker)
                log = broker.process.output()[logged:]
                figures.slowest = slowest_requests(log, CLIENT_ID, SLOWEST_SHOWN)
                time.sleep(seconds_before)
        figures.faults += good.failures[:3]
    _evaluate(figures, good, begun, loaded_at, over_at)
    _judge_server(figures, broker, 1.1 * figures.memory_before if settle else float("inf"))
    figures.turns = long_turns(broker.process.output()[logged:])
    if load.restarts and broker.process.exit_code is None:
        figures.start_seconds = _start_again(figures, broker)
    return figures


def _evaluate(figures: Figures, good: GoodClients, begun: float, loaded_at: float, over_at: float) -> None:
    slow_until = over_at
    for client in good.clients:
        kind = client.kind
        before = good.rounds(kind, begun, loaded_at)
        during = good.rounds(kind, loaded_at, over_at)
        after = good.rounds(kind, over_at, float("inf"))
        figures.before[kind] = Times.of(before)
        figures.during[kind] = Times.of(during)
        figures.after[kind] = Times.of(after)
        figures.own_ms = max([figures.own_ms, *(1000 * found.own for found in during)])
        figures.loop_ms = max([figures.loop_ms, *(1000 * found.loop for found in during)])
        slow = max(0.01, P99_RATIO_MAX * figures.before[kind].p99 / 1000)
        for found in after:
            if found.took > slow and found.due < slow_until + NORMAL_SECONDS:
                slow_until = max(slow_until, found.due + found.took)
    figures.seconds_until_normal = slow_until - over_at


def _judge_server(figures: Figures, broker: Broker, memory_goal: float) -> None:
    if broker.process.exit_code is not None:
        figures.faults.append(f"the server ended: {broker.process.tail()}")
        return
    if http_port_of(broker):
        try:
            metrics = metrics_of(http_port_of(broker))
        except OSError as error:
            figures.faults.append(f"/metrics: {error}")
            return
        if found := internal_errors(metrics):
            figures.faults.append(f"errors of the server's own: {found}")
    figures.memory_after = _memory_when_settled(broker, memory_goal)


def _start_again(figures: Figures, broker: Broker) -> float:
    """Kill the server and start it on what the load has left; return the seconds until it answers."""
    broker.kill()
    began = time.monotonic()
    try:
        broker.restart()
        eventually(
            lambda: answers_api_versions(broker.port), waiting_for="an answer", within_seconds=START_SECONDS
        )
        time.sleep(1)
        assert broker.process.exit_code is None, broker.process.tail()
    except AssertionError as error:
        figures.faults.append(f"does not start again: {error}")
    return time.monotonic() - began


@contextmanager
def prepared(
    broker: Broker, load: Load, *, seconds: float, seed: int, factor: float = 1.0
) -> Iterator[subprocess.Popen[str]]:
    """Start the process of a load; it has made what it needs, and waits to be let go."""
    command = [sys.executable, "-m", "compat_tests.overload.loads", load.name, str(broker.port)]
    command += [str(http_port_of(broker)), str(seconds), str(factor), str(seed)]
    command.append(json.dumps(broker.other_ports))
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
    ) as process:
        try:
            _expect(process, "ready")
            yield process
        finally:
            process.kill()


@contextmanager
def loaded(
    broker: Broker, load: Load, *, seconds: float, seed: int, factor: float = 1.0
) -> Iterator[subprocess.Popen[str]]:
    """Run the load in a process, from when it is there to when it ends."""
    with prepared(broker, load, seconds=seconds, seed=seed, factor=factor) as process:
        _let_go(process)
        yield process


def _let_go(process: subprocess.Popen[str]) -> None:
    _stream(process.stdin).write("go\n")
    _stream(process.stdin).flush()
    _expect(process, "going")


def _expect(process: subprocess.Popen[str], word: str) -> None:
    line = _stream(process.stdout).readline()
    assert line == f"{word}\n", f"the load said {line!r}, not {word!r}"


def _stream(stream: IO[str] | None) -> IO[str]:
    assert stream is not None
    return stream


def _end_of(process: subprocess.Popen[str], figures: Figures, *, within_seconds: float) -> str:
    try:
        output, _ = process.communicate(timeout=within_seconds)
    except subprocess.TimeoutExpired:
        figures.faults.append(f"the load was not served to its end within {within_seconds:.0f} s")
        return "did not end"
    if process.returncode:
        figures.faults.append(f"the load ended with {process.returncode}")
    return output.strip()


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


__all__ = ["KINDS", "Figures", "Times", "gateway_for", "loaded", "measure", "prepared"]
