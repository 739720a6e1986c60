"""`kawal restore`: make a data directory from a backup."""

from __future__ import annotations

import argparse
import json

from console.errors import OK, CommandError, UsageError
from console.help import describe
from console.steps import drive, size_text
from wal.backup_manifest import MANIFEST, BackupError, backups_in
from wal.disk import Disk, OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.restore import Restore


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Copy a backup made by 'kawal backup' to a new or empty data directory, check every byte of it, and
        make it a data directory as the last step.  It keeps the cluster's id.  The backup stays as it is.

        Records that were acknowledged after the backup are not in it: consumers that were further ahead get
        OFFSET_OUT_OF_RANGE and continue as their auto.offset.reset says.""",
        [
            ("restore /mnt/backup/20261122T020000Z --data /var/lib/kawal", "then start the server"),
            ("restore /mnt/backup --data /tmp/try", "the newest one in the folder"),
            ("restore /mnt/backup --check", "read it all and restore nothing"),
        ],
    )
    parser.add_argument("backup", metavar="BACKUP", help="a backup, or a folder of backups: then the newest")
    parser.add_argument("--data", metavar="DIR", help="data directory to make; it must be empty or missing")
    parser.add_argument("--check", action="store_true", help="only check that the backup is sound")
    parser.add_argument("--json", action="store_true", help="print one JSON object")


def run(arguments: argparse.Namespace) -> int:
    """Restore or check a backup.  Raises: CommandError."""
    if bool(arguments.data) == arguments.check:
        raise UsageError("give --data DIR to restore to, or --check")
    try:
        return _restore(arguments)
    except (DiskError, StoreError) as error:
        raise CommandError(str(error)) from error


def _restore(arguments: argparse.Namespace) -> int:
    disk = OsDisk()
    path = _find(disk, arguments.backup.rstrip("/") or "/")
    data = (arguments.data or "").rstrip("/")
    restore = Restore(disk, path, data)
    seconds = drive(restore.check() if arguments.check else restore.run())
    manifest = restore.manifest
    if arguments.json:
        tree = {
            "path": path,
            "data": data or None,
            "cluster_id": manifest.identity.cluster_id,
            "point_ms": manifest.point_ms,
            "logs": len(manifest.logs),
            "size_bytes": manifest.size_bytes,
        }
        print(json.dumps(tree))
        return OK
    done = "sound" if arguments.check else f"restored to {data}"
    print(
        f"{path}: {done}: cluster {manifest.identity.cluster_id}, {len(manifest.logs)} logs,"
        f" {size_text(manifest.size_bytes)}, every byte checked, in {seconds:.1f} s"
    )
    return OK


def _find(disk: Disk, path: str) -> str:
    """Return the backup at a path, or the newest one in it.  Raises: BackupError; DiskError."""
    if disk.exists(f"{path}/{MANIFEST}"):
        return path
    names = backups_in(disk, path)
    if not names:
        raise BackupError(f"{path}: no complete backup is there (none has a {MANIFEST})")
    return f"{path}/{names[-1]}"
