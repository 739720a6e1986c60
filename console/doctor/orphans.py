"""Streams in the logs that no topic owns: found by reading alone, as a server may have the logs open."""

from __future__ import annotations

from collections.abc import Iterator

from broker.catalogue.catalogue_records import decode_record
from broker.catalogue.catalogue_replay import replay_all
from broker.catalogue.orphans import runs_text
from broker.config.config import Config
from console.doctor.finding import Finding, ok, warning
from wal.backup_catalogue import catalogue_records
from wal.disk import Disk
from wal.store import META, vnode_path, vnodes_in
from wal.store_marker import MARKER, read_marker
from wal.stored_streams import stored_streams


def check_orphans(disk: Disk, config: Config) -> Iterator[Finding]:
    """Look for streams whose topic the catalogue neither knows nor has deleted.  Raises: DiskError."""
    path = config.log_dirs
    if not disk.exists(f"{path}/{MARKER}") or not disk.exists(f"{path}/{META}"):
        return
    if read_marker(disk, f"{path}/{MARKER}").node:
        yield ok("streams", "the catalogue that names the topics of these streams is on node 0")
        return
    catalogue = replay_all(map(decode_record, catalogue_records(disk, f"{path}/{META}")))
    known = {stream_id for topic in catalogue.by_id.values() for stream_id in topic.stream_ids()}
    known |= catalogue.deleted_streams
    found = False
    for database, vnode_id in vnodes_in(disk, path):
        orphans = sorted(stored_streams(disk, vnode_path(path, database, vnode_id)) - known)
        if orphans:
            found = True
            text = f"{database}/vnode-{vnode_id} keeps records of {len(orphans)} streams without a topic"
            advice = "'kawal wal orphans' shows them, 'kawal wal adopt' makes them a topic"
            yield warning("streams", f"{text}: {runs_text(orphans)}", advice)
    if not found:
        yield ok("streams", "every stream belongs to a topic")
