"""`kawal backup`: copy a data directory, also beside a running server."""

from __future__ import annotations

import argparse
import json
import os
import time
from datetime import UTC, datetime

from broker.config.config_keys import ConfigProblem
from broker.config.config_sources import load
from console.errors import OK, CommandError, UsageError
from console.help import describe, int64
from console.server_flags import CONFIG_VARIABLE, config_file
from console.steps import drive, size_text
from wal.backup import Backup
from wal.backup_manifest import backups_in, read_manifest, remove_old
from wal.disk import OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Make a backup of a data directory; its server may be running, and need not know.  Everything that
        was acknowledged before the backup began is in it, and the logs in it fit together.  Every byte of the
        copy is read again and checked, and only then does it get a manifest: what an interruption leaves is
        never taken for a backup, and the next one removes it.

        Each backup is a folder of its own in --to, named by its time.  Files that the one before has, too,
        become hard links to it, so a daily backup takes the room of a day's records.  Run it on the server's
        machine, as the server's user; --to is best on another disk.""",
        [
            ("backup --data /var/lib/kawal --to /mnt/backup", "one more backup"),
            (
                "backup --data /var/lib/kawal --to /mnt/backup --keep 14 --rate 50",
                "each night, at most 50 MiB/s",
            ),
            ("backup --to /mnt/backup --list", "what there is"),
        ],
    )
    parser.add_argument("--to", metavar="DIR", required=True, help="folder of the backups")
    parser.add_argument(
        "--data", metavar="DIR", help="data directory (default: that of a server started here)"
    )
    parser.add_argument(
        "--config", metavar="FILE", help=f"TOML file that names it (default ${CONFIG_VARIABLE})"
    )
    parser.add_argument(
        "--keep", metavar="N", type=int64, help="afterwards remove all but the newest N backups"
    )
    parser.add_argument("--rate", metavar="MIB", type=int64, help="copy at most so many MiB a second")
    parser.add_argument("--list", action="store_true", help="list the complete backups, and make none")
    parser.add_argument("--json", action="store_true", help="print one JSON object per line")


def run(arguments: argparse.Namespace) -> int:
    """Make a backup, or list those there are.  Raises: CommandError."""
    for name in ("keep", "rate"):
        if (number := getattr(arguments, name)) is not None and number < 1:
            raise UsageError(f"--{name} is {number}: give at least 1")
    folder = arguments.to.rstrip("/") or "/"
    try:
        if arguments.list:
            return _list(folder, arguments)
        return _make(folder, _data_directory(arguments), arguments)
    except (DiskError, StoreError) as error:
        raise CommandError(str(error)) from error


def _data_directory(arguments: argparse.Namespace) -> str:
    if arguments.data:
        return str(arguments.data).rstrip("/") or "/"
    try:
        return load(file=config_file(arguments), environment=os.environ).config.log_dirs.rstrip("/")
    except ConfigProblem as problem:
        raise CommandError(str(problem)) from problem


def _make(folder: str, data: str, arguments: argparse.Namespace) -> int:
    if f"{os.path.realpath(folder)}/".startswith(f"{os.path.realpath(data)}/"):
        raise UsageError(f"{folder} lies in the data directory {data}; a backup there would be lost with it")
    from broker.start import vnodes_of  # it imports the whole engine, which a list does not need

    disk = OsDisk()
    backup = Backup(disk, data, folder, clock=lambda: time.time_ns() // 1_000_000, vnodes_of=vnodes_of)
    seconds = drive(backup.run(), rate_bytes=(arguments.rate or 0) << 20)
    assert backup.manifest is not None
    removed = remove_old(disk, folder, arguments.keep) if arguments.keep else []
    if arguments.json:
        tree = {
            "path": backup.path,
            "point_ms": backup.manifest.point_ms,
            "logs": len(backup.manifest.logs),
            "copied_bytes": backup.copied_bytes,
            "linked_bytes": backup.linked_bytes,
            "removed": [*backup.removed, *removed],
        }
        print(json.dumps(tree))
        return OK
    for name in backup.removed:
        print(f"{folder}/{name}: removed; an interrupted backup had left it")
    sizes = f"{size_text(backup.copied_bytes)} copied, {size_text(backup.linked_bytes)} linked"
    print(
        f"{backup.path}: {data} as of {_time_text(backup.manifest.point_ms)},"
        f" {len(backup.manifest.logs)} logs, {sizes}, every byte checked, in {seconds:.1f} s"
    )
    for name in removed:
        print(f"{folder}/{name}: removed; the newest {arguments.keep} are kept")
    return OK


def _list(folder: str, arguments: argparse.Namespace) -> int:
    disk = OsDisk()
    for name in backups_in(disk, folder):
        path = f"{folder}/{name}"
        manifest = read_manifest(disk, path)
        if arguments.json:
            tree = {"path": path, "point_ms": manifest.point_ms, "size_bytes": manifest.size_bytes}
            print(json.dumps(tree))
        else:
            size = size_text(manifest.size_bytes)
            print(f"{path}: as of {_time_text(manifest.point_ms)}, {len(manifest.logs)} logs, {size}")
    return OK


def _time_text(moment_ms: int) -> str:
    return datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="milliseconds")
