"""A gateway under a load, with good clients beside it: what they noticed, and what it took of the machine."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import IO, Final

from broker.loop.turns import BUDGET_NS
from compat_tests.broker import HOST, Broker, answers_api_versions, free_port
from compat_tests.certificates import make_certificates
from compat_tests.kafka_broker import KafkaBroker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.logins import login_settings
from compat_tests.overload.figures import (
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
    percentile,
)
from compat_tests.overload.load import Load
from compat_tests.overload.memory_group import MemoryGroup
from compat_tests.overload.processors import Others
from compat_tests.overload.results import P99_RATIO_MAX, Figures, Times
from compat_tests.tokens import TOKEN_SETTINGS
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually

SETTLE_SECONDS: Final = 60.0
STEADY_SECONDS: Final = 15.0
"""Memory that has not fallen for this long stays as it is: what allocators keep, they keep."""
STEADY_MIB: Final = 0.25

NORMAL_SECONDS: Final = 1.0
"""Good clients are as before when no round of theirs is slow for this long."""

WARM_SECONDS: Final = 3.0
"""Until then a new gateway makes the topics of groups, imports, and writes its first segments."""

START_SECONDS: Final = 60.0

PREPARE_SECONDS: Final = 600.0

SLOWEST_SHOWN: Final = 8


def gateway_for(
    load: Load, directory: Path, *, explain: bool = False, group: MemoryGroup | None = None
) -> KawalBroker:
    """Return a gateway with the settings that the load needs, not yet started, and its metrics on a port.

    With `explain` it logs the good clients' requests, so that the figures say where the slowest waited, and
    each turn of the event loop above its budget.  It runs in `group`, if there is one.
    """
    own = {"kawal.http.listen": f"{HOST}:{free_port()}", "kawal.max.partitions.per.request": "1000000"}
    if explain:
        own |= {"kawal.request.log": CLIENT_ID, "kawal.request.log.rate": "1000"}
        own["kawal.loop.turn.log.ms"] = str(BUDGET_NS // 1_000_000)
    gateway = KawalBroker(directory, {**own, **_security_for(load, directory), **load.settings})
    gateway.wrap = group.command if group is not None else None
    return gateway


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
    bystander: Broker | None = None,
) -> Figures:
    """Put the load on the broker for this long; measure the good clients before, beside and after it.

    Memory afterwards is read when it is back to a tenth above what it was, or stops falling, or after a
    minute; or at once, without `settle`.  `bystander`: a gateway like it, with good clients of its own, which
    gets no load.
    """
    figures = Figures(load.name)
    create_topic(broker, TOPIC)
    if bystander is not None:
        create_topic(bystander, TOPIC)
    with prepared(broker, load, seconds=seconds, seed=seed, factor=factor) as process:
        with (
            GoodClients(broker) as good,
            nullcontext() if bystander is None else GoodClients(bystander) as others,
        ):
            time.sleep(WARM_SECONDS)
            begun = time.monotonic()
            time.sleep(seconds_before)
            figures.memory_before = memory_of(broker)
            forget_peak(broker)
            waited_before = broker.process.queued_seconds()
            logged = len(broker.process.output())
            servers = [server for server in (broker, bystander) if server is not None]
            others_cores = Others([process.pid, *(server.process.pid for server in servers)])
            loaded_at = time.monotonic()
            _let_go(process)
            figures.did = _end_of(process, figures, within_seconds=seconds + 300)
            over_at = time.monotonic()
            figures.others_cores = others_cores.cores()
            if broker.process.exit_code is None:
                figures.waited_for_core = broker.process.queued_seconds() - waited_before
                figures.memory_peak = peak_memory_of(broker)
                log = broker.process.output()[logged:]
                figures.slowest = slowest_requests(log, CLIENT_ID, SLOWEST_SHOWN)
                time.sleep(seconds_before)
        figures.faults += good.failures[:3]
    _evaluate(figures, good, begun, loaded_at, over_at)
    if others is not None:
        for client in others.clients:
            figures.beside[client.kind] = Times.of(others.rounds(client.kind, loaded_at, over_at))
    _judge_server(figures, broker, 1.1 * figures.memory_before if settle else float("inf"))
    figures.turns = long_turns(broker.process.output()[logged:])
    if load.restarts and broker.process.exit_code is None:
        figures.start_seconds = _start_again(figures, broker)
    return figures


def _evaluate(figures: Figures, good: GoodClients, begun: float, loaded_at: float, over_at: float) -> None:
    slow_until = over_at
    own: list[float] = []
    for client in good.clients:
        kind = client.kind
        before = good.rounds(kind, begun, loaded_at)
        during = good.rounds(kind, loaded_at, over_at)
        after = good.rounds(kind, over_at, float("inf"))
        figures.before[kind] = Times.of(before)
        figures.during[kind] = Times.of(during)
        figures.after[kind] = Times.of(after)
        own += [1000 * found.own for found in during]
        figures.loop_ms = max([figures.loop_ms, *(1000 * found.loop for found in during)])
        slow = max(0.01, P99_RATIO_MAX * figures.before[kind].p99 / 1000)
        for found in after:
            if found.took > slow and found.due < slow_until + NORMAL_SECONDS:
                slow_until = max(slow_until, found.due + found.took)
    figures.own_ms, figures.own_p98_ms = max(own, default=0.0), percentile(own, 0.98)
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
