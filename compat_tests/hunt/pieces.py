"""A piece of the hunt: a server, played on for some seconds and started again, a few times, and judged."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

from broker.coordinators.member_reads import LOAD_WAIT_MS
from compat_tests.broker import HOST, free_port
from compat_tests.hunt.memory_watch import Act, MemoryWatch
from compat_tests.kawal_broker import KawalBroker
from compat_tests.logins import login_settings
from compat_tests.overload.figures import (
    Turn,
    forget_peak,
    internal_errors,
    long_turns,
    metrics_of,
    peak_memory_of,
    processes_of,
)
from compat_tests.overload.good_client import TOPIC, GoodClients
from compat_tests.topics import create_topic

ROOT: Final = Path(__file__).parents[2]

PHASES: Final = 3
"""A server is played on and ended this often before it gets an empty directory."""

MEMORY_MIB_MAX: Final = 512
START_SECONDS_MAX: Final = 30

SETTINGS: Final[dict[str, tuple[str, ...]]] = {
    "log.retention.check.interval.ms": ("300", "5000"),
    "log.cleaner.backoff.ms": ("100", "3000"),
    "log.segment.delete.delay.ms": ("0", "500"),
    "offsets.retention.check.interval.ms": ("500",),
    "offsets.retention.minutes": ("1", "10080"),
    "group.initial.rebalance.delay.ms": ("0", "3000"),
    "kawal.rebalance.interval.ms": ("0", "500"),
    "producer.id.expiration.ms": ("1000", "86400000"),
    "kawal.max.producers.per.partition": ("2", "10000"),
    "kawal.segment.bytes": ("1048576", "67108864"),
    "kawal.vnodes": ("1", "3"),
    "kawal.group.assignor": ("client", "server"),
    "kawal.out.of.range": ("error", "first"),
    "kawal.max.partitions": ("2000", "200000"),
    "kawal.max.partitions.per.request": ("10000", "1000000"),
    "auto.create.topics.enable": ("true", "false"),
    "max.incremental.fetch.session.cache.slots": ("3", "1000"),
    "kawal.storage.state.topic": ("true", "false"),
    "kawal.ledgers.topic": ("true", "false"),
    "kawal.audit.topic": ("true", "false"),
    "group.share.record.lock.duration.ms": ("15000", "30000"),
    "kawal.durability": ("disk", "disk", "os"),
}
"""Settings that bring timers, compaction and retention close together; a piece takes one value of each."""

KEPT: Final = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}
"""The good clients' topic loses nothing: players change what others have from the database around them."""

FAULT: Final = re.compile(
    r"internal error|Traceback \(most recent|cannot be written|worker \d+ \(process \d+\) ended",
    re.IGNORECASE,
)


@dataclass
class Verdict:
    """The figures of a piece, and what was wrong."""

    seed: str
    requests: int = 0
    bytes: int = 0
    connections: int = 0
    starts: int = 0
    memory_mib: float = 0.0
    peak_mib: float = 0.0
    at_peak: list[str] = field(default_factory=list)
    """The highest memory that was seen from outside, and the actors that were at work then."""
    turns: dict[str, Turn] = field(default_factory=dict)
    """The longest turn of the event loop above 20 ms of processor, by the work that took the most of it."""
    worst_ms: float = 0.0
    sent: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)


class Piece:
    """One server's life under the hunt."""

    def __init__(
        self,
        seed: str,
        directory: Path,
        actors: list[str],
        tell: Callable[[str], None],
        store: Mapping[str, str] | None = None,
        *,
        workers: int = 1,
    ) -> None:
        """`store`: the settings with which the server's logs are copied to an object store.

        `workers`: the processes of the server, each with a port of its own.
        """
        self.seed = seed
        self.directory = directory
        self.actors = actors
        self.tell = tell
        self.chance = Random(seed)
        self.http_port = free_port()
        settings = {key: self.chance.choice(values) for key, values in SETTINGS.items()}
        settings["kawal.http.listen"] = f"{HOST}:{self.http_port}"
        settings |= login_settings(SASL="SASL_PLAINTEXT")
        if store:
            settings |= {**store, "kawal.remote.store": f"{store['kawal.remote.store']}/{seed}"}
        self.broker = KawalBroker(directory / "server", settings)
        self.broker.workers = workers
        self.verdict = Verdict(seed)

    def run(self, seconds: float) -> Verdict:
        """Play, restart, play; return the verdict."""
        (self.directory / "settings.json").parent.mkdir(parents=True, exist_ok=True)
        (self.directory / "settings.json").write_text(json.dumps(self.broker.settings, indent=1))
        try:
            for phase in range(PHASES):
                if not self._start():
                    break
                self._phase(phase, seconds / PHASES)
            if self.broker.process.exit_code is not None:
                self._start()
        finally:
            self.broker.kill()
        return self.verdict

    def _start(self) -> bool:
        began = time.monotonic()
        try:
            self.broker.start()
            create_topic(self.broker, TOPIC, configs=KEPT) if not self.verdict.starts else None
        except Exception as error:  # noqa: BLE001  (a server that does not come up is the worst finding)
            self._problem(f"start {self.verdict.starts + 1}: {str(error)[:2_000]}")
            return False
        self.verdict.starts += 1
        took = time.monotonic() - began
        if took > START_SECONDS_MAX:
            self._problem(f"start {self.verdict.starts} took {took:.0f} s")
        forget_peak(self.broker)
        return True

    def _phase(self, phase: int, seconds: float) -> None:
        findings = self.directory / f"phase-{phase}"
        findings.mkdir(parents=True, exist_ok=True)
        clients = GoodClients(self.broker, loads_until=time.monotonic() + LOAD_WAIT_MS / 1_000)
        watched = MemoryWatch(self.broker.process.pid, processes_of(self.broker))
        with clients as good, watched as watch:
            played = self._play(findings, phase, seconds)
            alive = self.broker.process.exit_code is None
            if alive:
                self._look(good)
        if not alive:
            self._problem(f"the server ended: {self.broker.process.tail()}")
        elif self.chance.random() < 0.5:
            self.broker.kill()
        else:
            code, _ = self.broker.stop()
            if code:
                self._problem(f"SIGTERM ended the server with {code}: {self.broker.process.tail()}")
        self._judge(findings, played, good)
        self._note_peak(watch, played)

    def _play(self, findings: Path, phase: int, seconds: float) -> dict[str, Any]:
        command = [sys.executable, "-m", "compat_tests.hunt.player"]
        command += [str(self.broker.port), str(self.http_port), f"{self.seed}/{phase}", str(seconds)]
        with subprocess.Popen(
            [
                *(*command, str(findings), json.dumps(self.broker.other_ports), str(self.broker.workers)),
                *self.actors,
            ],
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        ) as player:
            try:
                output, _ = player.communicate(timeout=seconds + 300)
            except subprocess.TimeoutExpired:
                player.kill()
                self._problem("the player did not come to its end: some request was answered much too late")
                return {}
        if player.returncode:
            self._problem(f"the player ended with {player.returncode}")
            return {}
        found: dict[str, Any] = json.loads(output)
        return found

    def _look(self, good: GoodClients) -> None:
        """Take the figures of a server that still runs."""
        verdict = self.verdict
        verdict.memory_mib = max(verdict.memory_mib, peak_memory_of(self.broker))
        try:
            errors = internal_errors(metrics_of(self.http_port))
        except OSError as error:
            self._problem(f"/metrics: {error}")
            return
        if errors:
            self._problem(f"internal errors: {errors}")
        for client in good.clients:
            for found in list(client.rounds):
                verdict.worst_ms = max(verdict.worst_ms, 1000 * found.took)

    def _judge(self, findings: Path, played: dict[str, Any], good: GoodClients) -> None:
        verdict = self.verdict
        verdict.requests += played.get("requests", 0)
        verdict.bytes += played.get("bytes", 0)
        verdict.connections += played.get("connections", 0)
        verdict.sent.update(played.get("sent", {}))
        if self.broker.process.exit_code is not None or good.failures:
            for failure in good.failures[:3]:
                self._problem(f"good client: {failure[:500]}")
        if verdict.memory_mib > MEMORY_MIB_MAX:
            self._problem(f"memory {verdict.memory_mib:.0f} MiB")
        for text in sorted(findings.glob("*.txt")):
            self._problem(f"{text.stem}: {text.read_text()[:1_500]}")
        log = self.broker.process.output()
        for turn in long_turns(log):
            verdict.turns[turn.work] = max(turn, verdict.turns.get(turn.work, turn))
        for line in log.splitlines():
            if FAULT.search(line):
                self._problem(_shortened(line))

    def _note_peak(self, watch: MemoryWatch, played: dict[str, Any]) -> None:
        """Keep the highest peak of memory with the actors that were at work."""
        if watch.peak_mib > self.verdict.peak_mib:
            self.verdict.peak_mib = watch.peak_mib
            self.verdict.at_peak = watch.at_peak(Act(*act) for act in played.get("acts", ()))

    def _problem(self, text: str) -> None:
        """Keep it, once; figures in it do not make it another."""
        if _likeness(text) not in {_likeness(problem) for problem in self.verdict.problems}:
            self.verdict.problems.append(text)
            self.tell(f"  PROBLEM ({self.directory}): {text}")


def _shortened(line: str) -> str:
    """Return a line of the log with the beginning and the end of its stack."""
    return line if len(line) < 1_200 else f"{line[:300]} ... {line[-900:]}"


def _likeness(text: str) -> str:
    """Return the text's end without figures: the cause of an error stands last."""
    return re.sub(r"\d+", "0", text[-90:])
