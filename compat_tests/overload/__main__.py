"""Put loads on a gateway, one after the other, and print what its good clients noticed.

Each load has a gateway of its own. Figures stand for before, while and after the load, in milliseconds.
The bars:

    on any machine          no end and no error of the server's own, no turn of the event loop above 20 ms of
                            processor, at most 512 MiB of memory
    on a quiet machine,     for each good client a p99 of at most twice what it is before, or `beside`, and
    with --alone            100 ms at worst, or twice what is the worst `beside`

`beside` (p50, p99, worst): a second gateway runs meanwhile, with good clients of its own and without a load.
What these notice, too, is the machine's doing, whose processors and disk they all share.
`loop` (p99, worst): the processor time of the event loop between a request and its answer.  That is the
gateway's own part, and does not depend on what else the machine does.
`others took`: the processors that processes without a part in this kept busy.  Above 0.2 the machine is not
quiet: times are told, and not judged.

Exit code 1: a bar is broken.  With --broker kafka the same clients and loads meet Apache Kafka: what no
broker does is no fault of ours.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from compat_tests.broker import Broker
from compat_tests.overload.loads import LOADS, Load
from compat_tests.overload.measure import Figures, gateway_for, kafka_for, measure
from compat_tests.overload.memory_group import MemoryGroup
from compat_tests.overload.partitions import measure_partitions

PARTITIONS = Load("partitions", lambda _: "", "50,000 partitions: made, written to, killed, ready again")


def main() -> int:
    """Run the loads that are named, or all."""
    options = _options()
    if options.list:
        for load in [*LOADS.values(), PARTITIONS]:
            print(f"{load.name:20} {load.text}")
        return 0
    names = options.only or [*LOADS, PARTITIONS.name]
    done: list[Figures] = []
    began = time.monotonic()
    for number, name in enumerate(names, 1):
        print(
            f"[{number}/{len(names)}, {time.monotonic() - began:.0f} s] {name}", file=sys.stderr, flush=True
        )
        if name == PARTITIONS.name:
            _partitions(options)
            continue
        done.append(_run(LOADS[name], options))
        print(done[-1].line, flush=True)
        if options.json:
            options.json.write_text(json.dumps([figures.as_json() for figures in done], indent=1))
    print(_table(done))
    judged = (figures.broken or (options.alone and figures.is_quiet and figures.late) for figures in done)
    return 1 if any(judged) else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m compat_tests.overload",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    choices = [*LOADS, PARTITIONS.name]
    parser.add_argument("--only", nargs="+", choices=choices, metavar="NAME", help="some loads, not all")
    parser.add_argument("--list", action="store_true", help="say what loads there are")
    parser.add_argument("--seconds", type=float, default=30.0, help="how long each load lasts; default 30")
    parser.add_argument("--factor", type=float, default=1.0, help="the part of each load's full size")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--alone", action="store_true", help="nothing else runs: judge the clients' times, too"
    )
    parser.add_argument("--unsettled", action="store_true", help="do not wait until memory is given back")
    parser.add_argument(
        "--explain", action="store_true", help="say in which phases the good clients' slowest requests waited"
    )
    parser.add_argument(
        "--broker", choices=["kawal", "kafka"], default="kawal", help="the server; Kafka to compare with"
    )
    parser.add_argument(
        "--memory-group",
        type=Path,
        metavar="PATH",
        help="a control group of Linux with a limit of memory, in which the gateway under the load runs",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures there")
    return parser.parse_args()


def _run(load: Load, options: argparse.Namespace) -> Figures:
    with tempfile.TemporaryDirectory(prefix="kawal-overload-") as directory:
        broker, *others = _servers(load, Path(directory), options)
        try:
            for server in (broker, *others):
                server.start()
            ended = _ended_in(options)
            figures = measure(
                broker,
                load,
                seconds=options.seconds,
                seed=options.seed,
                factor=options.factor,
                settle=not options.unsettled,
                bystander=others[0] if others else None,
            )
            if _ended_in(options) > ended:
                figures.faults.append(f"the kernel ended it: {options.memory_group} was full")
            return figures
        except AssertionError as error:
            return Figures(load.name, faults=[f"not measured: {error}"])
        finally:
            for server in (broker, *others):
                server.kill()


def _servers(load: Load, directory: Path, options: argparse.Namespace) -> list[Broker]:
    """Return the server for the load, and with --alone one like it, which the load does not touch."""
    folders = [directory, directory / "bystander"] if options.alone else [directory]
    if options.broker == "kafka":
        return [kafka_for(load, folder) for folder in folders]
    return [
        gateway_for(
            load,
            folder,
            explain=options.explain,
            group=_group(options) if folder is directory else None,
        )
        for folder in folders
    ]


def _group(options: argparse.Namespace) -> MemoryGroup | None:
    return MemoryGroup(options.memory_group) if options.memory_group else None


def _ended_in(options: argparse.Namespace) -> int:
    """Return how many processes the kernel has ended in the group so far; 0: there is no group."""
    group = _group(options)
    return group.ended() if group is not None else 0


def _partitions(options: argparse.Namespace) -> None:
    for topics in (1, 5_000):
        with tempfile.TemporaryDirectory(prefix="kawal-overload-") as directory:
            broker = gateway_for(PARTITIONS, Path(directory), group=_group(options))
            broker.start()
            try:
                figures = measure_partitions(
                    broker,
                    partitions=max(topics, round(50_000 * options.factor)),
                    topics=topics,
                    records=40_000,
                    seed=options.seed,
                )
                print(figures.line, flush=True)
            finally:
                broker.kill()


def _table(done: list[Figures]) -> str:
    """Return a row for each load: the worst of all kinds of good clients."""
    rows = [
        f"{'load':20}{'p50 ms':>16}{'p99 ms':>18}{'worst ms':>18}{'turn ms':>9}{'MiB':>15}{'normal s':>10}"
        "  bars"
    ]
    for figures in done:
        parts = (figures.before, figures.during, figures.after)
        p50, p99, worst = (
            [max((getattr(times, name) for times in part.values()), default=0.0) for part in parts]
            for name in ("p50", "p99", "worst")
        )
        memory = f"{figures.memory_before:.0f} {figures.memory_peak:.0f} {figures.memory_after:.0f}"
        rows.append(
            f"{figures.load:20}{_three(p50):>16}{_three(p99):>18}{_three(worst):>18}{figures.turn_ms:>9}"
            f"{memory:>15}{figures.seconds_until_normal:>10.1f}  {_verdict(figures)}"
        )
    return "\n".join(rows)


def _verdict(figures: Figures) -> str:
    if figures.broken:
        return f"{len(figures.broken)} broken"
    if figures.late:
        return "late" if figures.is_quiet else "late, machine busy"
    return "met"


def _three(values: list[float]) -> str:
    return " ".join(f"{value:.0f}" if value >= 10 else f"{value:.1f}" for value in values)


if __name__ == "__main__":
    sys.exit(main())
