"""Break pipeline jobs in every way and format.

    python -m compat_tests.pipeline_kills --kind delta --only gateway executor

A line for each scenario and format: its seconds and its verdict. The exit code is 1 when one failed; its
folder is kept. Mounts (disk-full, disk-away) need root.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path

from compat_tests.kawal_broker import KawalBroker
from compat_tests.object_store import ObjectStore, object_store
from compat_tests.pipeline_kills.copies import COPY_SCENARIOS, make_copy_ground
from compat_tests.pipeline_kills.ground import BUCKET_KINDS, KINDS, make_ground
from compat_tests.pipeline_kills.scenarios import LOCAL, SCENARIOS


def main() -> int:
    """Run what the arguments choose, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--kind",
        nargs="*",
        choices=[*KINDS, *BUCKET_KINDS],
        default=[*KINDS, *BUCKET_KINDS],
        help="formats of tables (default: all, on a disk and in a bucket)",
    )
    names = [*SCENARIOS, *COPY_SCENARIOS]
    parser.add_argument(
        "--only", nargs="*", choices=names, metavar="NAME", default=names, help="scenarios (default: all)"
    )
    parser.add_argument("--list", action="store_true", help="say which scenarios there are")
    options = parser.parse_args()
    if options.list:
        for name, scenario in {**SCENARIOS, **COPY_SCENARIOS}.items():
            print(f"{name:<22} {scenario.__doc__ or 'Kill the driver, or a broker, at this point.'}")
        return 0
    folder = Path(tempfile.mkdtemp(prefix="kawal-pipeline-kills-"))
    brokers = [KawalBroker(folder / name, {}) for name in ("broker", "target")]
    for broker in brokers:
        broker.start()
    try:
        with maybe_store(options.kind, folder) as store:
            failed = _run(options.only, options.kind, brokers, folder, store)
    finally:
        for broker in brokers:
            broker.kill()
    if not failed:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{failed} failed{f'; what they left is in {folder}' if failed else ''}")
    return min(failed, 1)


def maybe_store(kinds: list[str], folder: Path) -> AbstractContextManager[ObjectStore | None]:
    """Return a store for the block, if one of `kinds` is in a bucket."""
    return object_store(folder / "store") if set(kinds) & set(BUCKET_KINDS) else nullcontext()


def _run(
    names: list[str],
    kinds: list[str],
    brokers: list[KawalBroker],
    folder: Path,
    store: ObjectStore | None,
) -> int:
    """Run scenarios and return how many failed."""
    source, target = brokers
    failed = 0
    for name in names:
        if name in COPY_SCENARIOS:
            copy = partial(make_copy_ground, source, target, folder / name)
            failed += not _passed(name, "topics", lambda: COPY_SCENARIOS[name](copy()))  # noqa: B023
            continue
        for kind in kinds:
            if name in LOCAL and kind in BUCKET_KINDS:
                continue
            table = partial(make_ground, source, folder / f"{name}-{kind}", kind, store=store)
            failed += not _passed(name, kind, lambda: SCENARIOS[name](table()))  # noqa: B023
    return failed


def _passed(name: str, kind: str, run: Callable[[], None]) -> bool:
    began = time.monotonic()
    try:
        run()
    except Exception:  # noqa: BLE001  (the next scenario runs all the same)
        traceback.print_exc(file=sys.stdout)
        print(f"FAILED  {name:<22} {kind:<8} {time.monotonic() - began:6.1f} s", flush=True)
        return False
    print(f"ok      {name:<22} {kind:<8} {time.monotonic() - began:6.1f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
