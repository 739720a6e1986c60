"""`kawal restore`: make a data directory from a backup, or from the copy in an object store."""

from __future__ import annotations

import argparse
import json
import os
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from broker.config.config_keys import ConfigProblem
from console.copies import only_cluster
from console.errors import OK, CommandError, UsageError
from console.help import describe
from console.steps import drive, size_text
from wal.backup_manifest import MANIFEST, BackupError, backups_in
from wal.disk import Disk, OsDisk
from wal.disk_errors import DiskError
from wal.errors import StoreError
from wal.objects import ObjectStoreError
from wal.restore import Restore

if TYPE_CHECKING:
    from wal.remote.restore import RemoteRestore

SCHEME: Final = "s3://"
NAMED_MAX: Final = 5
"""The logs that are named in a sentence."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Copy a backup made by 'kawal backup' to a new or empty data directory, check every byte of it, and
        make it a data directory as the last step.  It keeps the cluster's id.  The backup stays as it is.

        With s3://BUCKET/PREFIX it is the copy that a server with kawal.remote.store keeps there, as of its
        last moment, and with durability 'remote' everything that was acknowledged after it, too; credentials
        come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY.  The server that kept it should be off: without
        that durability it would go on acknowledging records that the restored one does not have.  The copies
        of all workers of one server make one directory; any number of workers may serve it.

        Records that were acknowledged later are not there.  Their offsets are given out again, under another
        leader epoch: consumers that were further ahead learn of it, and continue as their auto.offset.reset
        says.""",
        [
            ("restore /mnt/backup/20261122T020000Z --data /var/lib/kawal", "then start the server"),
            ("restore /mnt/backup --data /tmp/try", "the newest one in the folder"),
            ("restore /mnt/backup --check", "read it all and restore nothing"),
            ("restore s3://logs/kawal --data /var/lib/kawal", "the copy in an object store"),
            ("restore s3://logs/kawal --data /tmp/try --at 2026-11-22T02:00:00Z", "as it was then"),
            ("restore s3://logs/kawal --node 1 --data /var/lib/kawal", "node 1 of kawal.cluster.nodes"),
        ],
    )
    parser.add_argument(
        "backup", metavar="BACKUP", help="a backup, a folder of backups (the newest), or s3://…"
    )
    parser.add_argument("--data", metavar="DIR", help="data directory to make; it must be empty or missing")
    parser.add_argument("--check", action="store_true", help="only check that the backup is sound")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--cluster", metavar="ID", help="cluster's id, where several have copies under s3://…"
    )
    parser.add_argument(
        "--endpoint", metavar="URL", help="address of a store that is not Amazon S3, https://HOST:PORT"
    )
    parser.add_argument(
        "--at",
        metavar="TIME",
        help="newest moment up to this one that kawal.remote.history.ms has kept; after the last one, with"
        " durability 'remote', all that was acknowledged up to it",
    )
    parser.add_argument(
        "--node", metavar="I", type=int, default=0, help="number of the node, of several (default 0)"
    )
    parser.add_argument("--region", metavar="NAME", default="us-east-1", help="region of the store")


def run(arguments: argparse.Namespace) -> int:
    """Restore or check a backup.  Raises: CommandError."""
    if bool(arguments.data) == arguments.check:
        raise UsageError("give --data DIR to restore to, or --check")
    try:
        if arguments.at is not None and not arguments.backup.startswith(SCHEME):
            raise UsageError("--at is for a copy under s3://…; a backup is of one moment")
        if arguments.node and not arguments.backup.startswith(SCHEME):
            raise UsageError("--node is for a copy under s3://…; a backup is of one directory")
        if arguments.node < 0:
            raise UsageError("--node takes a number from 0 on")
        if arguments.backup.startswith(SCHEME):
            return _restore_from_store(arguments)
        return _restore(arguments)
    except (DiskError, StoreError, ObjectStoreError, ConfigProblem) as error:
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


def _restore_from_store(arguments: argparse.Namespace) -> int:
    if not arguments.data:
        raise UsageError("--check reads a backup; the copy in an object store is checked by restoring it")
    # Loaded for this alone: most restores are from a folder.
    from broker.server.object_store import StorePlace, open_store
    from broker.start import vnodes_of
    from wal.remote.places import node_folder
    from wal.remote.restore import RemoteRestore, clusters_in

    place = StorePlace(
        url=arguments.backup,
        endpoint=(arguments.endpoint or "").rstrip("/"),
        region=arguments.region,
        credentials=os.environ,
    )
    store = open_store(place, node_folder(arguments.node))
    cluster = arguments.cluster or only_cluster(clusters_in(store), store.name)
    data = arguments.data.rstrip("/") or "/"
    restore = RemoteRestore(
        store,
        OsDisk(),
        cluster_id=cluster,
        data=data,
        at_ms=_moment_ms(arguments.at),
        place_of=lambda number: open_store(place, node_folder(number)),
        vnodes_of=vnodes_of,
    )
    seconds = drive(restore.run())
    if arguments.json:
        tree = {
            "path": store.name,
            "data": data,
            "cluster_id": cluster,
            "point_ms": restore.cut.time_ms,
            "logs": restore.log_count,
            "size_bytes": restore.size_bytes,
            "journal_bytes": restore.journal_bytes,
            "node": restore.cut.node,
            "nodes": restore.cut.nodes,
            "workers": restore.cut.workers,
            "left_out": restore.left_out,
        }
        print(json.dumps(tree))
    else:
        _tell(restore, f"{store.name}: restored to {data}", cluster, seconds)
    return OK


def _tell(restore: RemoteRestore, done: str, cluster: str, seconds: float) -> None:
    """Say what was restored from an object store, and what follows from it."""
    cut = restore.cut
    moment = datetime.fromtimestamp(cut.time_ms / 1000, UTC).isoformat(timespec="milliseconds")
    later = f" and {size_text(restore.journal_bytes)} acknowledged after it" if restore.journal_bytes else ""
    node = f" node {cut.node} of {cut.nodes}," if cut.nodes > 1 else ""
    if cut.workers > 1:
        node = f" the copies of {cut.workers} workers,"
    print(
        f"{done} as of {moment}{later}: cluster {cluster},{node}"
        f" {restore.log_count} logs, {size_text(restore.size_bytes)}, every byte checked, in {seconds:.1f} s"
    )
    if restore.left_out:
        print(
            f"{len(restore.left_out)} logs were left out, as the catalogue, at the moment of worker 0's copy,"
            f" does not know them: {', '.join(sorted(restore.left_out)[:NAMED_MAX])}"
        )
    if cut.nodes > 1 or cut.workers > 1:
        kind = "node" if cut.nodes > 1 else "worker"
        print(
            f"databases of durability 'disk' and 'os' come back to each {kind}'s own moment: an offset that"
            f" was committed at one {kind} may be ahead of the records of another. Those of durability"
            " 'remote' are complete, up to the last record that was acknowledged."
        )


def _moment_ms(text: str | None) -> int | None:
    """Return a moment in milliseconds since 1970; without a time zone it is UTC.  Raises: UsageError."""
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--at {text!r} is not a time such as 2026-11-22T02:00:00Z") from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1000)


def _find(disk: Disk, path: str) -> str:
    """Return the backup at a path, or the newest one in it.  Raises: BackupError; DiskError."""
    if disk.exists(f"{path}/{MANIFEST}"):
        return path
    names = backups_in(disk, path)
    if not names:
        raise BackupError(f"{path}: no complete backup is there (none has a {MANIFEST})")
    return f"{path}/{names[-1]}"
