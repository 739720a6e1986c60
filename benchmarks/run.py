"""Kawal beside Apache Kafka: `python -m benchmarks.run [--quick] [--rounds N] [--only NAME …] [--json FILE]`.

Every round starts the servers one after the other on the same disk (A B A B …) and gives each the same work
from the same clients. Ratios are taken within a round, then their median, as the speed of the machine varies.
"""

from __future__ import annotations

import argparse
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path

from benchmarks import environment, json_file, report, scale
from benchmarks.cases import CASES, UnknownCase, chosen, servers_of
from benchmarks.clients.jobs import CLIENTS
from benchmarks.environment import REPOSITORY, UnfitDirectory
from benchmarks.runner import Runner
from benchmarks.servers import SERVER_KINDS

FULL_ROUNDS, QUICK_ROUNDS = 5, 1
STOPPED = 130
"""The exit code of a command that was interrupted, as shells give it."""
NEEDED_BYTES = 14_000_000_000
"""The room for the largest suite on one server, and some more."""
WORKING_DIRECTORY = REPOSITORY / ".cache" / "benchmarks"
RESULTS = Path(__file__).parent / "results"


def main() -> int:
    """Do what the command line says; exit code 1 if something could not be measured, 2 for a wrong call."""
    options = _parser().parse_args()
    if options.list:
        print("\n".join(f"{case.name:<24}{case.title}" for case in CASES))
        return 0
    try:
        return _run(options)
    except (UnknownCase, UnfitDirectory) as problem:
        print(f"benchmark: {problem}", file=sys.stderr)
        return 2


def _run(options: argparse.Namespace) -> int:
    cases = chosen(options.only, quick=options.quick)
    rounds = options.rounds or (QUICK_ROUNDS if options.quick else FULL_ROUNDS)
    sizes = (scale.quick if options.quick else scale.full)(options.client)
    options.directory.mkdir(parents=True, exist_ok=True)
    environment.check_directory(options.directory, needed_bytes=NEEDED_BYTES)
    kinds = servers_of(cases, options.servers)
    facts = environment.facts(options.directory, kinds)
    print(json_file.heading(facts), flush=True)
    started = time.monotonic()
    runner = Runner(cases=cases, kinds=kinds, rounds=rounds, scale=sizes, directory=options.directory)
    stopped = _until_stopped(runner)
    results = runner.results
    print(f"\n{report.table(results, cases)}\n")
    seconds = time.monotonic() - started
    print(f"{rounds} round{'s' * (rounds > 1)} in {seconds / 60:.1f} minutes")
    if stopped:
        print("stopped before the end: nothing was written")
        return STOPPED
    target = options.json or (None if options.quick or options.only else _default_file())
    if target:
        run = {"rounds": rounds, "quick": options.quick, "seconds": round(seconds), "scale": asdict(sizes)}
        json_file.write(target, facts=facts, run=run, results=results, cases=cases)
        print(f"written to {target}")
    return 1 if results.failures else 0


def _until_stopped(runner: Runner) -> bool:
    """Run to the end, to an interrupt from the keyboard or to SIGTERM; return whether it was cut short."""
    # The servers must not outlive the benchmark, however it is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        runner.run()
    except KeyboardInterrupt:
        return True
    return False


def _default_file() -> Path:
    return RESULTS / f"{time.strftime('%Y-%m-%d-%H%M', time.gmtime())}-{environment.commit_name()}.json"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.run", description="Measure Kawal beside Apache Kafka in one run."
    )
    parser.add_argument("--quick", action="store_true", help="fewer cases, one round, under four minutes")
    parser.add_argument("--rounds", type=_positive, metavar="N", help="rounds (5; quick: 1)")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="cases or suites; * stands for anything"
    )
    parser.add_argument("--servers", nargs="+", choices=SERVER_KINDS, default=SERVER_KINDS, help="(all)")
    parser.add_argument(
        "--client", choices=CLIENTS, default=CLIENTS[0], help="what produces and consumes (native)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="where the figures go")
    parser.add_argument(
        "--directory", type=Path, default=WORKING_DIRECTORY, help="where the servers keep their data"
    )
    parser.add_argument("--list", action="store_true", help="show the names of all cases")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"{value} rounds measure nothing: give 1 or more")
    return value


if __name__ == "__main__":
    sys.exit(main())
