"""Snapshots of the catalogue, which keep its log short: each replaces all records before it.

One is due when the records since the last one are as large as it is, so that a change costs the same however
much exists.  The event loop only copies references; a thread encodes the records and writes them.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import encode_record
from wal.catalogue import SnapshotJob
from wal.errors import WalError

if TYPE_CHECKING:
    from broker.catalogue.topics import Catalogue
    from broker.storage.vnode import Vnode
    from wal.catalogue import Catalogue as CatalogueLog

logger = logging.getLogger("kawal.broker")

SNAPSHOT_AFTER_BYTES: Final = 1 << 20
"""The least size of the records before a snapshot is due: replaying 1 MiB takes about 20 ms."""


class CatalogueSnapshots:
    """The maker of snapshots, which decides when one is due and takes it of the present catalogue."""

    def __init__(self, catalogue: Catalogue, catalogue_log: CatalogueLog, meta: Vnode) -> None:
        self._catalogue = catalogue
        self._log = catalogue_log
        self._meta = meta
        self._job: SnapshotJob | None = None
        self.after_bytes = SNAPSHOT_AFTER_BYTES

    @property
    def job(self) -> SnapshotJob | None:
        """The snapshot in progress."""
        return self._job

    def begin(self) -> SnapshotJob | None:
        """Return a job that writes a snapshot, if one is due.

        It begins only while every change is durable and confirmed: a snapshot must neither hold what the log
        may still lose, nor lack what the log no longer has.
        """
        due_bytes = max(self.after_bytes, self._log.snapshot_bytes)
        if self._job is not None or self._log.bytes_since_snapshot < due_bytes:
            return None
        if self._meta.last_version >= self._meta.log.next_version or self._meta.has_settled:
            return None
        self._job = self._log.begin_snapshot(map(encode_record, self._catalogue.snapshot()))
        return self._job

    def done(self, error: Exception | None) -> None:
        """Take the job back; a failed one is tried again after the next change."""
        job, self._job = self._job, None
        assert job is not None
        if error is None:
            try:
                self._log.snapshot_done(job)
            except WalError as failure:
                logger.warning("segments of the catalogue stay until the next snapshot: %s", failure)
        else:
            self._log.bytes_since_snapshot = 0
            logger.error("the catalogue's snapshot failed and is postponed: %s", error)
