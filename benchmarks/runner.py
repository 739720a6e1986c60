"""The rounds: servers one after the other, the cases of a suite on each, failures noted and survived."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

from benchmarks import proc, report, warm_memory
from benchmarks.bench import Bench, MeasurementError
from benchmarks.cases import Case
from benchmarks.clients.wire import WireError
from benchmarks.measure_throughput import warm_up
from benchmarks.results import Failure, Results, Sample
from benchmarks.scale import MB, Scale
from benchmarks.servers import TITLES, Server, ServerKind, new_server

EXPECTED_FAILURES = (MeasurementError, WireError, OSError, AssertionError, subprocess.SubprocessError)
"""The errors of a server that does not work; any other is a fault of the benchmark and ends the run."""


@dataclass(slots=True)
class Runner:
    """One run of the benchmark."""

    cases: Sequence[Case]
    kinds: Sequence[ServerKind]
    rounds: int
    scale: Scale
    directory: Path
    results: Results = field(default_factory=Results)
    _started: float = 0.0
    _done: int = 0

    def run(self) -> Results:
        """Measure everything, round by round."""
        self._started = time.monotonic()
        for round_ in range(1, self.rounds + 1):
            cases = [case for case in self.cases if round_ <= case.rounds]
            for _suite, group in groupby(cases, key=lambda case: case.suite):
                members = list(group)
                for kind in self.kinds:
                    self._suite([case for case in members if kind in case.servers], kind, round_)
        return self.results

    def _suite(self, cases: Sequence[Case], kind: ServerKind, round_: int) -> None:
        """Measure the cases of one suite on one server."""
        for case in cases:
            if case.starts_server:
                self._alone(case, kind, round_)
        sharing: Sequence[Case] = [case for case in cases if not case.starts_server]
        while sharing:
            sharing = self._together(sharing, kind, round_)

    def _alone(self, case: Case, kind: ServerKind, round_: int) -> None:
        server = self._new_server(kind)
        try:
            self._measure(case, Bench(server, self.scale), round_)
        finally:
            _end(server)

    def _together(self, cases: Sequence[Case], kind: ServerKind, round_: int) -> Sequence[Case]:
        """Measure cases on one server process; return those that are left when it dies."""
        server = self._new_server(kind)
        warm_memory.warm()
        bench = Bench(server, self.scale)
        try:
            if problem := self._no_warm_server(bench):
                for case in cases:
                    self._failed(case, kind, round_, problem)
                return []
            for place, case in enumerate(cases):
                os.sync()
                self._measure(case, bench, round_)
                if server.process.exit_code is not None:
                    return cases[place + 1 :]
            self._note_peak(cases[0].suite, server, round_)
        finally:
            _end(server)
        return []

    def _no_warm_server(self, bench: Bench) -> str:
        """Start the server and warm it up; return why that failed, or an empty text."""
        started = time.monotonic()
        try:
            bench.server.start()
            answered = time.monotonic()
            warm_up(bench)
        except EXPECTED_FAILURES as problem:
            return f"no warm server: {problem}{_last_words(bench.server)}"
        name, warm = TITLES[bench.server.server_kind], time.monotonic()
        self._say(f"{name} started in {answered - started:.1f} s, warmed up in {warm - answered:.1f} s")
        return ""

    def _measure(self, case: Case, bench: Bench, round_: int) -> None:
        server = bench.server
        try:
            figures = case.measure(bench)
        except EXPECTED_FAILURES as problem:
            reason = f"{type(problem).__name__}: {problem}{_last_words(server)}"
            self._failed(case, server.server_kind, round_, reason)
            return
        sample = Sample(case=case.name, server=server.server_kind, round=round_, figures=figures)
        self.results.samples.append(sample)
        self._progress(case, server.server_kind, round_, report.one_line(figures))

    def _note_peak(self, suite: str, server: Server, round_: int) -> None:
        """Record the memory of a server after a whole suite, a figure that costs no time."""
        memory = proc.memory(server.pid)
        figures = {"rss_mb": memory.resident_bytes / MB, "peak_rss_mb": memory.peak_bytes / MB}
        name = f"memory-after-{suite}"
        self.results.samples.append(
            Sample(case=name, server=server.server_kind, round=round_, figures=figures)
        )

    def _failed(self, case: Case, kind: ServerKind, round_: int, reason: str) -> None:
        self.results.failures.append(Failure(case=case.name, server=kind, round=round_, reason=reason))
        self._progress(case, kind, round_, f"FAILED: {report.shortened(reason)}")

    def _progress(self, case: Case, kind: ServerKind, round_: int, text: str) -> None:
        self._done += 1
        total = self._total()
        left = (time.monotonic() - self._started) / self._done * (total - self._done)
        head = f"[{self._done:>3}/{total}, {_clock(left)} left] round {round_}/{self.rounds}"
        self._say(f"{head}  {TITLES[kind]:<12}{case.name:<22}{text}")

    def _say(self, text: str) -> None:
        print(f"{_clock(time.monotonic() - self._started):>6} {text}", flush=True)

    def _total(self) -> int:
        return sum(
            min(case.rounds, self.rounds) * len(set(case.servers) & set(self.kinds)) for case in self.cases
        )

    def _new_server(self, kind: ServerKind) -> Server:
        directory = self.directory / kind
        if directory.exists():
            shutil.rmtree(directory)
        return new_server(kind, directory)


def _last_words(server: Server) -> str:
    """Return the end of what the server printed, if anything, for the reader of a failure."""
    words = server.last_words()
    return f"; the server's last words: {words}" if words else ""


def _end(server: Server) -> None:
    """End a server and forget its data, so that the next one finds the disk idle."""
    if server.running:
        server.kill()
    shutil.rmtree(server.directory, ignore_errors=False)
    os.sync()


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"
