"""The directories of dropped databases: from the last work of their logs to the record that none is left.

    dropped --> logs idle --> job: files removed --> every node has removed its own --> DirectoryRemoved

The catalogue names a dropped directory until then, so a node that was away finds at its start what it is to
remove.  Nodes that share a data directory leave the files to the controller.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from broker.catalogue.catalogue_records import DirectoryRemoved
from broker.catalogue.database_jobs import RemoveJob
from broker.errors import RequestError

if TYPE_CHECKING:
    from broker.catalogue.metadata import Metadata
    from broker.loop.loop import Loop
    from broker.storage.vnode import Vnode
    from broker.storage.vnodes import Vnodes
    from wal.store import Store

logger = logging.getLogger("kawal.databases")

RETRY_MS: Final = 60_000
"""The pause after a directory could not be removed, or its removal not be recorded."""


class DatabaseRemovals:
    """The removals of one node."""

    def __init__(self, metadata: Metadata, loop: Loop, store: Store, vnodes: Vnodes) -> None:
        self._metadata = metadata
        self._loop = loop
        self._store = store
        self._vnodes = vnodes
        # Vnodes of dropped databases that still have jobs in flight, by directory.
        self._closing: dict[str, list[Vnode]] = {}
        self._due: list[RemoveJob] = []
        # Directories that may still be here.
        self._here: set[str] = set()
        if metadata.nodes.is_controller:
            for directory in metadata.catalogue.databases.dropped:
                self._record_when_gone_everywhere(RemoveJob(store, directory))

    @property
    def busy(self) -> bool:
        """True while there is work that is not begun."""
        return bool(self._closing or self._due)

    @property
    def has_some_here(self) -> bool:
        """Whether a directory of a dropped database may still be on this node's disk."""
        return bool(self._here)

    def dropped(self, directory: str, vnodes: list[Vnode]) -> None:
        """Remove a directory, once its logs have no more work in threads."""
        self._closing[directory] = vnodes
        if self._removes_files:
            self._here.add(directory)

    @property
    def _removes_files(self) -> bool:
        return self._metadata.nodes.has_own_directory or self._metadata.nodes.is_controller

    def take_jobs(self, now_ms: int) -> list[RemoveJob]:
        """Release the logs that are idle, and return the removals that can begin now."""
        for directory, vnodes in tuple(self._closing.items()):
            if any(vnode.busy for vnode in vnodes):
                continue
            del self._closing[directory]
            for vnode in vnodes:
                vnode.abandon()
                vnode.settle(self._loop.internal_errors, now_ms)
            if self._removes_files:
                self._due.append(RemoveJob(self._store, directory))
        due, self._due = self._due, []
        return due

    def job_done(self, job: RemoveJob, error: Exception | None, now_ms: int) -> None:
        """Take back a job that has ended."""
        if error is not None:
            logger.error("the directory %s of a dropped database is removed later: %s", job.directory, error)
            job.failed = True
            self._again(job, now_ms)
        elif not job.failed:
            self._here.discard(job.directory)
            if self._metadata.nodes.is_controller:
                self._record_when_gone_everywhere(job)

    def _record_when_gone_everywhere(self, job: RemoveJob) -> None:
        version = self._vnodes.meta.log.next_version
        elsewhere = self._metadata.topics.deleted_elsewhere
        elsewhere.when_directories_are_gone(version, lambda: self._record(job))

    def _record(self, job: RemoveJob) -> None:
        if job.directory not in self._metadata.catalogue.databases.dropped:
            return
        now_ms = self._loop.clock.turn_ms
        try:
            self._metadata.metadata_log.append(DirectoryRemoved(directory=job.directory), now_ms)
        except RequestError as refusal:
            logger.warning("the removal of directory %s is recorded later: %s", job.directory, refusal)
            self._again(job, now_ms)
        else:
            self._metadata.metadata_log.when_durable(
                lambda lost: self._again(job, now_ms) if lost is not None else None, now_ms
            )

    def _again(self, job: RemoveJob, now_ms: int) -> None:
        """Schedule another try to remove the directory, or to record that; a start tries it, too."""
        self._loop.timers.add(now_ms + RETRY_MS, lambda _now_ms: self._due.append(job))
