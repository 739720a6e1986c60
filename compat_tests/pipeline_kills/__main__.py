"""Break pipeline jobs in every way and format.

    python -m compat_tests.pipeline_kills --kind delta --only gateway executor
    python -m compat_tests.pipeline_kills --only audit:delta twice --verdicts kills.txt
    python -m compat_tests.pipeline_kills --dose 3

A line for each scenario and format (of copies: each kind of job): its seconds and its verdict. The exit code
is 1 when one failed; its folder is kept. The whole takes hours; with --verdicts it can be ended at any time,
and goes on with what is not in the file. Mounts (disk-full, disk-away) need root. A class archive, with which
Spark starts in half the time, is made first.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from compat_tests.kawal_broker import KawalBroker
from compat_tests.object_store import ObjectStore, object_store
from compat_tests.pipeline_kills.copies import COPY_KINDS, COPY_SCENARIOS, make_copy_ground
from compat_tests.pipeline_kills.ground import BUCKET_KINDS, KINDS, make_ground
from compat_tests.pipeline_kills.scenarios import BUCKET, LOCAL, SCENARIOS
from compat_tests.pipeline_kills.upkeep import COMPACT_SCENARIOS, UPKEEP_SCENARIOS
from pipeline.class_archive import archive_for, make_archive
from pipeline.jars import find_jars
from pipeline.session import find_java

TABLE_SCENARIOS = {**SCENARIOS, **UPKEEP_SCENARIOS}
ALL_SCENARIOS = [*TABLE_SCENARIOS, *COPY_SCENARIOS]
ALL_KINDS = [*KINDS, *BUCKET_KINDS, *COPY_KINDS]


def main() -> int:
    """Run what the arguments choose, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--kind",
        nargs="*",
        choices=ALL_KINDS,
        default=ALL_KINDS,
        help="formats of tables, on a disk and in a bucket, and kinds of copies (default: all)",
    )
    parser.add_argument(
        "--only",
        nargs="*",
        type=_chosen,
        metavar="NAME[:KIND]",
        default=[(name, "") for name in ALL_SCENARIOS],
        help="scenarios, in this order, each in all its kinds or in one (default: all)",
    )
    parser.add_argument(
        "--verdicts", type=Path, help="file for the verdicts; what it has already is not done again"
    )
    parser.add_argument(
        "--dose", type=int, default=1, help="times that each is done: kills in mid-batch fall elsewhere"
    )
    parser.add_argument("--list", action="store_true", help="say which scenarios there are")
    options = parser.parse_args()
    if options.list:
        for name, scenario in {**TABLE_SCENARIOS, **COPY_SCENARIOS}.items():
            said = scenario.__doc__ or "Kill the driver, or a broker, at this point."
            print(f"{name:<22} {len(_kinds(name, options.kind))} kinds  {said}")
        return 0
    warm()
    folder = Path(tempfile.mkdtemp(prefix="kawal-pipeline-kills-"))
    brokers = [KawalBroker(folder / name, {}) for name in ("broker", "target")]
    for broker in brokers:
        broker.start()
    try:
        with maybe_store(options.kind, folder) as store:
            done, failed = _run(options, brokers, folder, store)
    finally:
        for broker in brokers:
            broker.kill()
    if not failed:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{done} done, {failed} failed{f'; what they left is in {folder}' if failed else ''}")
    return min(failed, 1)


def warm() -> None:
    """Make the class archive of Spark, if there is none: each scenario starts up to five Java processes."""
    java, jars = find_java(os.environ), find_jars(os.environ)
    if archive_for(java, jars, os.environ) is None:
        print(f"the class archive is {make_archive(java, jars, os.environ)}", flush=True)


def _chosen(text: str) -> tuple[str, str]:
    """Return the scenario and the kind that an argument names; the kind is "" for all."""
    name, _, kind = text.partition(":")
    if name not in ALL_SCENARIOS or (kind and kind not in _kinds(name, ALL_KINDS)):
        raise argparse.ArgumentTypeError(f"there is no {text!r}; --list says what there is")
    return name, kind


def maybe_store(kinds: list[str], folder: Path) -> AbstractContextManager[ObjectStore | None]:
    """Return a store for the block, if one of `kinds` is in a bucket."""
    return object_store(folder / "store") if set(kinds) & set(BUCKET_KINDS) else nullcontext()


def _run(
    options: argparse.Namespace, brokers: list[KawalBroker], folder: Path, store: ObjectStore | None
) -> tuple[int, int]:
    """Run what is chosen; return how many scenarios were done, and how many of them failed."""
    source, target = brokers
    verdicts = []
    for dose in range(options.dose):
        for name, kind in pairs(options.only, options.kind):
            place = folder / f"{name}-{kind}-{dose}"
            if options.verdicts and _is_judged(options.verdicts, name, kind, dose):
                continue
            if kind in COPY_KINDS:
                copy = partial(make_copy_ground, source, target, place, kind)
                run = partial(_on, COPY_SCENARIOS[name], copy)
            else:
                run = partial(
                    _on, TABLE_SCENARIOS[name], partial(make_ground, source, place, kind, store=store)
                )
            line = _verdict(name, kind, run)
            verdicts.append(line.startswith("ok"))
            if options.verdicts:
                with options.verdicts.open("a") as file:
                    file.write(f"{line}\n")
    return len(verdicts), verdicts.count(False)


def pairs(chosen: list[tuple[str, str]], kinds: list[str]) -> list[tuple[str, str]]:
    """Return each scenario that was chosen with each kind that it is to be done in, none twice."""
    found = [(name, kind) for name, only in chosen for kind in _kinds(name, kinds) if only in ("", kind)]
    return list(dict.fromkeys(found))


def _is_judged(verdicts: Path, name: str, kind: str, dose: int) -> bool:
    """Return whether a file of verdicts has more than `dose` of a scenario in a kind."""
    lines = verdicts.read_text().splitlines() if verdicts.exists() else []
    return sum(line.split()[1:3] == [name, kind] for line in lines) > dose


def _on(scenario: Callable[[Any], None], make: Callable[[], Any]) -> None:
    scenario(make())


def _kinds(name: str, kinds: list[str]) -> list[str]:
    """Return those of `kinds` with which a scenario makes sense."""
    if name in COPY_SCENARIOS:
        return [kind for kind in kinds if kind in COPY_KINDS]
    fit = {*KINDS, *BUCKET_KINDS}
    if name in COMPACT_SCENARIOS:
        fit = {"parquet", "delta", "delta-s3"}
    if name in LOCAL:
        fit = set(KINDS)
    if name in BUCKET:
        fit = set(BUCKET_KINDS)
    return [kind for kind in kinds if kind in fit]


def _verdict(name: str, kind: str, run: Callable[[], None]) -> str:
    began, verdict = time.monotonic(), "ok"
    try:
        run()
    except Exception:  # noqa: BLE001  (the next scenario runs all the same)
        traceback.print_exc(file=sys.stdout)
        verdict = "FAILED"
    line = f"{verdict:<7} {name:<22} {kind:<10} {time.monotonic() - began:6.1f} s"
    print(line, flush=True)
    return line


if __name__ == "__main__":
    sys.exit(main())
