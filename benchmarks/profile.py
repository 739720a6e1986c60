"""A profile of the gateway under a load: `python -m benchmarks.profile {produce,consume,small}`.

py-spy samples the running gateway.  The table shows, per thread, the share of samples in which a function was
on top (self) and on the stack at all (total); the file beside it opens in https://www.speedscope.app.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import measure_throughput, proc, scale
from benchmarks.bench import Bench
from benchmarks.clients.jobs import CLIENTS, ConsumeJob, Job, ProduceJob, SmallRecordsJob
from benchmarks.environment import REPOSITORY
from benchmarks.servers import new_server

WORKING_DIRECTORY = REPOSITORY / ".cache" / "benchmarks"
PY_SPY = Path(sys.executable).with_name("py-spy")
SAMPLES_PER_SECOND = 250
FUNCTIONS_SHOWN = 25
USES = ("loop in Python", "loop in the kernel", "threads in Python", "threads in the kernel")
LOAD_SECONDS = 2.0
CONSUME_BYTES = 600_000_000


def main() -> int:
    """Start the gateway, load it, sample it, print the table; exit code 1 if it could not be sampled."""
    options = _parser().parse_args()
    target: Path = options.output or WORKING_DIRECTORY / f"profile-{options.load}.speedscope.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    with _gateway() as bench:
        measure_throughput.warm_up(bench)
        kind, job = _load(bench, options)
        sampler = _start_sampler(bench.server.pid, target, options)
        before = proc.thread_times(bench.server.pid)
        while sampler.poll() is None:
            bench.run(kind, job)
        times = _used(before, proc.thread_times(bench.server.pid))
    problem = sampler.communicate()[1].strip()
    if sampler.returncode:
        print(f"profile: {problem}\nprofile: py-spy must be allowed to trace (root)", file=sys.stderr)
        return 1
    print(f"CPU time by /proc: {times}")
    print(table(json.loads(target.read_text())))
    print(f"\nwritten to {target}: open it in https://www.speedscope.app")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.profile", description=__doc__)
    parser.add_argument("load", choices=("produce", "consume", "small"))
    parser.add_argument("--seconds", type=int, default=10, help="how long samples are taken (10)")
    parser.add_argument("--record-bytes", type=int, default=1_000, help="(1000)")
    parser.add_argument("--partitions", type=int, default=1, help="(1)")
    parser.add_argument("--acks", type=int, choices=(1, -1), default=-1, help="(-1)")
    parser.add_argument("--gil", action="store_true", help="only samples that hold the interpreter lock")
    parser.add_argument("--native", action="store_true", help="C frames too")
    parser.add_argument("--idle", action="store_true", help="waiting threads too")
    parser.add_argument("--output", type=Path, metavar="FILE", help="where the samples go")
    return parser


def _used(before: proc.ThreadTimes, after: proc.ThreadTimes) -> str:
    used = [late - early for early, late in zip(before, after, strict=True)]
    shares = (
        f"{seconds:.2f} s {what} ({seconds / sum(used):.0%})"
        for seconds, what in zip(used, USES, strict=True)
    )
    return ", ".join(shares)


@contextmanager
def _gateway() -> Iterator[Bench]:
    directory = WORKING_DIRECTORY / "profile"
    if directory.exists():
        shutil.rmtree(directory)
    server = new_server("kawal", directory)
    server.start()
    try:
        yield Bench(server, scale.full(CLIENTS[0]))
    finally:
        server.kill()
        shutil.rmtree(directory)


def _load(bench: Bench, options: argparse.Namespace) -> tuple[str, Job]:
    """Return the load that is repeated while samples are taken, with its topic ready."""
    size, partitions = options.record_bytes, options.partitions
    records = CONSUME_BYTES // size
    if options.load == "consume":
        topic = measure_throughput.fill(bench, record_bytes=size, partitions=partitions, records=records)
        return "consume", ConsumeJob(
            **bench.address, topic=topic, partitions=partitions, record_bytes=size, records=records
        )
    common = {**bench.address, "topic": bench.new_topic(partitions), "partitions": partitions}
    common |= {"record_bytes": size, "acks": options.acks, "seconds": LOAD_SECONDS}
    if options.load == "produce":
        return "produce", ProduceJob(**common)
    return "small_records", SmallRecordsJob(**common, connections=8, in_flight=5)


def _start_sampler(pid: int, target: Path, options: argparse.Namespace) -> subprocess.Popen[str]:
    flags = [flag for flag in ("--gil", "--native", "--idle") if getattr(options, flag[2:])]
    command = [
        *(str(PY_SPY), "record", "--pid", str(pid), "--format", "speedscope", "--output", str(target)),
        *("--duration", str(options.seconds), "--rate", str(SAMPLES_PER_SECOND), "--threads", *flags),
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def table(document: dict[str, Any]) -> str:
    """Return the functions with the most samples of a speedscope document, pools of threads as one."""
    frames = [_name(frame) for frame in document["shared"]["frames"]]
    threads: dict[str, list[list[int]]] = {}
    for profile in document["profiles"]:
        threads.setdefault(_pool(profile["name"]), []).extend(profile["samples"])
    lines = []
    for name, samples in sorted(threads.items(), key=lambda item: -len(item[1])):
        lines += [f"\n{name}: {len(samples)} samples", *_thread_lines(frames, samples)]
    return "\n".join(lines)


def _thread_lines(frames: list[str], samples: list[list[int]]) -> Iterator[str]:
    on_top = Counter(frames[stack[-1]] for stack in samples if stack)
    on_stack = Counter(name for stack in samples for name in {frames[place] for place in stack})
    ranked = sorted(on_top, key=lambda name: (-on_top[name], -on_stack[name]))
    yield f"{'self':>7}{'total':>7}  function"
    for name in ranked[:FUNCTIONS_SHOWN]:
        yield f"{on_top[name] / len(samples):>7.1%}{on_stack[name] / len(samples):>7.1%}  {name}"


def _pool(thread: str) -> str:
    """Return a thread's name without its number: 'Thread 12 "kawal-disk-3"' is of the pool kawal-disk."""
    return re.sub(r"[-_]?\d+$", "", thread.partition('"')[2].rstrip('"')) or thread


def _name(frame: dict[str, Any]) -> str:
    path = Path(frame["file"])
    # The folder tells where the function is from: broker/server, trio/_core, ….
    return f"{frame['name']}  {'/'.join(path.parts[-3:])}"


if __name__ == "__main__":
    sys.exit(main())
