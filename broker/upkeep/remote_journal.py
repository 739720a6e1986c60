"""The journal of this node: commits of durability `remote` on their way to the object store and back.

Threads send the chunks, up to three at once.  One that gets no answer is sent again, with pauses, for as long
as it takes: what waits for it is neither acknowledged nor readable.  So that waiting clients do not take all
memory for requests, ordinary appends are refused with KAFKA_STORAGE_ERROR while half of that is waiting.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.config.config import Config
from broker.loop.loop import Loop
from broker.loop.slices import Offload
from broker.loop.timers import Timer
from broker.storage.log_outcomes import LogOutcomes
from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from broker.upkeep.remote_call import submit_call
from wal.disk import DiskError
from wal.errors import StoreError
from wal.jobs import CommitJob
from wal.objects import Fenced, ObjectStore
from wal.remote.journal import Journal, JournalState, Put
from wal.store import META, Store
from wal.unstored import FileSlice, LogPlace

if TYPE_CHECKING:
    from random import Random

logger = logging.getLogger("kawal.remote")

RETRY_MS: Final = 100
RETRY_MAX_MS: Final = 5_000
LOG_EVERY_MS: Final = 60_000
"""A store that is away is told of once in this time."""
LOCAL_TRIES: Final = 8
"""Tries in a row, some 20 s, to read from the disk what is to be sent: what was written cannot be trusted."""


class JournalUnreadable(StoreError):
    """The disk does not give back what was written to it, so that the store can never have it."""


class VnodeCommit(NamedTuple):
    """A commit of a vnode's log."""

    name: str
    vnode: Vnode
    job: CommitJob

    def slices(self, since: LogPlace) -> list[FileSlice]:
        """Return the bytes of the log's files from a place to the end of the commit.  Raises: DiskError."""
        return self.vnode.log.slices(since, self.job)


def _stay(_error: Exception) -> None:
    """Go on with what needs no object store."""


def name_of(vnode: Vnode, path: str) -> str:
    """Return the folder of a vnode's log in the data directory at `path`."""
    return vnode.log.directory.removeprefix(f"{path}/")


@dataclass(slots=True)
class JournalCounts:
    """The numbers of the journal; times in milliseconds."""

    puts: int = 0
    stored_bytes: int = 0
    failures: int = 0
    local_failures: int = 0
    """Those at the disk, which did not give back what was written."""
    put_ms: int = 0
    """All requests together, from their first try on."""
    told_ms: int | None = field(default=None, repr=False)


class RemoteJournal:
    """Passes commits on to the journal, and what counts to the logs."""

    def __init__(
        self,
        loop: Loop,
        config: Callable[[], Config],
        *,
        objects: ObjectStore,
        incarnation: str,
        store: Store,
        vnodes: Vnodes,
        outcomes: LogOutcomes,
        submit: Offload,
        random: Random,
        lost: Callable[[Exception], None] = _stay,
    ) -> None:
        """`objects` has the journal, and `incarnation` names this process in it; `store` has the logs.

        `outcomes` is told which commits count; `submit` runs work in one of several threads; `lost` is told
        when nothing more can count, because another process has taken over.
        """
        self._loop = loop
        self._config = config
        self._path = store.path
        self._journal = Journal[VnodeCommit](
            objects,
            prefix=store.identity.cluster_id,
            incarnation=incarnation,
            logs=lambda: [name_of(vnode, store.path) for vnode in self._copied()],
            companion=(META, vnodes.meta.log) if store.keeps_catalogue else None,
        )
        self.keeps_catalogue = store.keeps_catalogue
        """Whether the catalogue's log is this node's to copy."""
        self._vnodes = vnodes
        self._outcomes = outcomes
        self._submit = submit
        self._lost = lost
        self._random = random
        self._is_behind = False
        self._stopped_by: Exception | None = None
        self._send_timer: Timer | None = None
        """The one by which `send` is tried again; puts on their way have one each."""
        self._local_tries = 0
        """Since the last one that went well."""
        self.needs_cut: Callable[[], None] = lambda: None
        """Is told when commits wait for a cut that the journal can follow."""
        self.counts = JournalCounts()
        vnodes.join(self)

    def _copied(self) -> Iterator[Vnode]:
        """Yield the vnodes whose logs are copied."""
        return (
            vnode for vnode in self._vnodes.every if vnode is not self._vnodes.meta or self.keeps_catalogue
        )

    def vnodes(self) -> Iterator[Vnode]:
        """Yield the vnodes of durability `remote`."""
        return (vnode for vnode in self._vnodes.every if vnode.log.options.durability == "remote")

    def numbers(self) -> dict[str, int]:
        """Return the numbers for metrics; none while nothing needs a journal."""
        if not self.is_wanted and self._journal.state is not JournalState.FENCED:
            return {}
        counts, journal = self.counts, self._journal
        return {
            "journal_puts": counts.puts,
            "journal_stored_bytes": counts.stored_bytes,
            "journal_failures": counts.failures,
            "journal_local_failures": counts.local_failures,
            "journal_put_ms": counts.put_ms,
            "journal_waiting_bytes": journal.waiting_bytes,
            "journal_in_flight": len(journal.in_flight),
            **{f"journal_{state.value}": int(journal.state is state) for state in JournalState},
        }

    @property
    def is_working(self) -> bool:
        """Whether there is something that a working store would take."""
        return self._journal.is_working

    @property
    def is_wanted(self) -> bool:
        """Whether any log needs a journal, or there is one."""
        return self._journal.state is JournalState.OPEN or next(self.vnodes(), None) is not None

    @property
    def is_open(self) -> bool:
        """Whether commits are sent: a cut has all that was here at the start."""
        return self._journal.state is JournalState.OPEN

    @property
    def is_waited_for(self) -> bool:
        """Whether commits wait for the journal to begin."""
        return self._journal.state is JournalState.WAITING and self._journal.waiting_bytes > 0

    @property
    def chunk(self) -> int | None:
        """The first chunk whose commits do not all count now; None while nothing needs a journal."""
        return self._journal.mark.number if self.is_wanted else None

    def covered(self, places: Mapping[str, LogPlace], *, epoch: int | None) -> None:
        """Learn of a cut that has all logs up to these places; with an epoch the journal follows it."""
        now_ms = self._loop.clock.turn_ms
        self._journal.covered(places)
        for vnode in self._vnodes.every:
            if not vnode.is_confirmed:
                self._outcomes.confirmed(vnode, now_ms)
        if epoch is not None and self._journal.state is JournalState.WAITING:
            self._journal.open(epoch)
            self.send(now_ms)

    def written(self, vnode: Vnode, job: CommitJob, now_ms: int) -> None:
        """Take a commit that is on the disk."""
        if self._stopped_by is not None:
            self._outcomes.stop(vnode, self._stopped_by, now_ms)
            return
        self._journal.add(VnodeCommit(name_of(vnode, self._path), vnode, job))
        self.look_behind()
        self.send(now_ms)
        if self._journal.state is JournalState.WAITING:
            self.needs_cut()

    def send(self, now_ms: int) -> None:
        """Send what can be sent."""
        if self._send_timer is not None and not self._send_timer.is_over:
            return  # the disk is asked again soon, however many commits come meanwhile
        try:
            begun = self._journal.begin()
        except DiskError as error:
            self._failed(error)
            delay_ms = min(RETRY_MS << min(self._local_tries, 10), RETRY_MAX_MS)
            if self._stopped_by is None:
                self._send_timer = self._later(delay_ms, self.send)
            return
        for put in begun:
            put.began_ms = now_ms
            self._run(put, RETRY_MS)

    def _run(self, put: Put[VnodeCommit], retry_ms: int) -> None:
        submit_call(self._submit, put.run, lambda error: self._sent(put, error, retry_ms))

    def _later(self, delay_ms: int, call: Callable[[int], None]) -> Timer:
        return self._loop.timers.add(self._loop.clock.turn_ms + delay_ms, call)

    def _sent(self, put: Put[VnodeCommit], error: Exception | None, retry_ms: int) -> None:
        now_ms = self._loop.clock.turn_ms
        counting = self._journal.done(put, error)
        if isinstance(error, Fenced):
            self.stop(error)
        elif error is not None and self._journal.state is JournalState.OPEN:
            self._failed(error)
            self._again(put, retry_ms)
        if error is not None:
            return
        self._local_tries = 0
        self.counts.puts += 1
        self.counts.stored_bytes += put.size_bytes
        self.counts.put_ms += now_ms - put.began_ms
        self.counts.told_ms = None
        for commit in counting:
            if commit.vnode.log.unstored:  # it may have been dropped meanwhile
                self._outcomes.stored(commit.vnode, commit.job, now_ms)
        self.look_behind()
        self.send(now_ms)

    def _again(self, put: Put[VnodeCommit], retry_ms: int) -> None:
        """Send a chunk again later, unless all has ended meanwhile."""
        if self._journal.state is JournalState.OPEN:
            again_ms = min(2 * retry_ms, RETRY_MAX_MS)
            self._later(retry_ms + self._random.randrange(retry_ms), lambda _: self._run(put, again_ms))

    def _failed(self, error: Exception) -> None:
        counts, now_ms = self.counts, self._loop.clock.turn_ms
        counts.failures += 1
        if isinstance(error, DiskError):
            counts.local_failures += 1
            self._local_tries += 1
            if self._local_tries >= LOCAL_TRIES:
                self.stop(_unreadable(error))
                return
        if counts.told_ms is None or now_ms >= counts.told_ms + LOG_EVERY_MS:
            counts.told_ms = now_ms
            logger.warning(
                "the object store does not take what durability 'remote' waits for; it is tried again: %s",
                error,
            )

    def look_behind(self) -> None:
        """Refuse appends while too much waits, and take them again after that."""
        waiting_bytes = self._journal.waiting_bytes + sum(v.log.open_frame_bytes for v in self.vnodes())
        is_behind = 2 * waiting_bytes > self._config().queued_max_request_bytes > 0
        if is_behind or self._is_behind:
            self._is_behind = is_behind
            for vnode in self.vnodes():
                vnode.log.hold_back(is_behind)

    def stop(self, error: Exception) -> None:
        """End for good: another process writes, the store has what the directory lacks, or the disk fails."""
        if self._stopped_by is not None:
            return
        self._stopped_by = error
        self._journal.stop()
        remote = list(self.vnodes())
        if remote:
            logger.critical("logs of durability 'remote' take nothing more until the next start: %s", error)
        for vnode in remote:
            self._outcomes.stop(vnode, error, self._loop.clock.turn_ms)
        self._lost(error)

    def forget(self, vnode: Vnode) -> None:
        """Send nothing more of a vnode that was dropped, or has stopped."""
        self._journal.forget(name_of(vnode, self._path))
        self.look_behind()


def _unreadable(error: DiskError) -> JournalUnreadable:
    return JournalUnreadable(
        f"the disk did not give back in {LOCAL_TRIES} tries what was written to it, so that the object store "
        f"cannot have it: {error}; nothing of it was acknowledged. Run 'kawal wal verify', or restore the "
        "directory from the store to another disk"
    )
