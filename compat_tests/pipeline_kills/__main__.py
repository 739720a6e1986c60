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
from pathlib import Path

from compat_tests.kawal_broker import KawalBroker
from compat_tests.pipeline_kills.ground import KINDS, make_ground
from compat_tests.pipeline_kills.scenarios import SCENARIOS


def main() -> int:
    """Run what the arguments choose, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--kind", nargs="*", choices=KINDS, default=list(KINDS), help="formats (default: all)"
    )
    parser.add_argument("--only", nargs="*", choices=list(SCENARIOS), help="scenarios (default: all)")
    parser.add_argument("--list", action="store_true", help="say which scenarios there are")
    options = parser.parse_args()
    if options.list:
        print(
            "\n".join(
                f"{name:<22} {(run.__doc__ or 'A driver is killed at this point.')}"
                for name, run in SCENARIOS.items()
            )
        )
        return 0
    folder = Path(tempfile.mkdtemp(prefix="kawal-pipeline-kills-"))
    broker = KawalBroker(folder / "broker", {})
    broker.start()
    failed = 0
    try:
        for name in options.only or SCENARIOS:
            for kind in options.kind:
                failed += not _passed(broker, folder / f"{name}-{kind}", name, kind)
    finally:
        broker.kill()
    if not failed:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"{failed} failed{f'; what they left is in {folder}' if failed else ''}")
    return min(failed, 1)


def _passed(broker: KawalBroker, folder: Path, name: str, kind: str) -> bool:
    began = time.monotonic()
    try:
        SCENARIOS[name](make_ground(broker, folder, kind))
    except Exception:  # noqa: BLE001  (the next scenario runs all the same)
        traceback.print_exc(file=sys.stdout)
        print(f"FAILED  {name:<22} {kind:<8} {time.monotonic() - began:6.1f} s", flush=True)
        return False
    print(f"ok      {name:<22} {kind:<8} {time.monotonic() - began:6.1f} s", flush=True)
    return True


if __name__ == "__main__":
    sys.exit(main())
