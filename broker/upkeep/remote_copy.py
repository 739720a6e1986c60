"""The copy of all logs in an object store, one round after another.

    STARTING   the store is tried, and the copy taken over                    again later, for ever
    COPYING    rounds, kawal.remote.lag.ms apart; at once while a backlog is left, within the rate
    AWAY       the store does not answer: again later, for ever               nothing else waits for it
    STOPPED    another process keeps the copy, or it must not be replaced     until the next start

Work is done in a thread; the event loop chooses the moment of a round, which takes microseconds.  No answer
to a client depends on any of it, but for logs of durability `remote`: their journal begins where a cut ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import Catalogue
from broker.config.config import Config
from broker.loop.loop import Loop
from broker.loop.slices import Offload, run_here
from broker.loop.timers import Timer
from broker.storage.vnodes import Vnodes
from broker.upkeep.remote_journal import RemoteJournal
from broker.upkeep.tiering import Tiering
from wal.errors import OtherWorkers, WalError
from wal.log_view import LogView
from wal.objects import Fenced, ObjectStoreError, StoreRefuses
from wal.read_rate import ReadRate
from wal.remote.formats import RemoteDamaged
from wal.remote.proof import Proofs
from wal.remote.same_history import RemoteAhead
from wal.remote.uploader import RoundReport, Uploader
from wal.store import META, VNODE_PREFIX
from wal.unstored import LogPlace

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.topic_directory import TopicDirectory
    from broker.storage.vnode import Vnode
    from broker.upkeep.heartbeat import Heartbeat

logger = logging.getLogger("kawal.remote")

FIRST_DELAY_MS: Final = 1_000
"""After the start, whose own work comes first."""
RETRY_MS: Final = 1_000
RETRY_MAX_MS: Final = 60_000
WANTED_RETRY_MAX_MS: Final = 5_000
"""The same while acknowledgements wait for it."""
LOG_EVERY_MS: Final = 60_000
"""A store that is away is told of once in this time."""
ROUND_BYTES: Final = 256 << 20
"""The closed segments of one round: between rounds the copy's end moves on."""
PROOF_BYTES: Final = 256 << 20
"""What one round reads back to prove it, so that it may leave the disk."""
CLEAN_PER_ROUND: Final = 200


class CopyState(Enum):
    """The states; the module says what each means."""

    STARTING = "starting"
    COPYING = "copying"
    AWAY = "away"
    STOPPED = "stopped"


@dataclass(slots=True)
class CopyCounts:
    """The numbers of the copy; times are those of the loop's clock."""

    state: CopyState = CopyState.STARTING
    covered_ms: int = -1
    """The moment up to which everything durable is in the store; negative: none yet."""
    uploaded_bytes: int = 0
    segments_missing: int = 0
    rounds: int = 0
    failures: int = 0
    problem: str = ""


class _Round:
    """The work of one round, for a thread; errors that are no fault of ours are kept, not raised."""

    def __init__(
        self,
        uploader: Uploader,
        probe: Callable[[], None] | None,
        views: dict[str, LogView],
        *,
        budget_bytes: int,
        wall_ms: int,
        wanted: dict[str, list[int]],
        proof_bytes: int,
        chunk: int | None,
    ) -> None:
        self._uploader = uploader
        self._probe = probe
        self._views = views
        self._budget_bytes = budget_bytes
        self._wall_ms = wall_ms
        self._wanted = wanted
        self._proof_bytes = proof_bytes
        self.chunk = chunk
        self.proofs = Proofs({})
        self.probed = False
        self.report: RoundReport | None = None
        self.error: Exception | None = None

    def run(self) -> None:
        """Do all that is due."""
        try:
            self._run()
        except (ObjectStoreError, OSError, WalError) as error:
            self.error = error

    def _run(self) -> None:
        uploader, wall_ms = self._uploader, self._wall_ms
        if self._probe is not None:
            self._probe()
            self.probed = True
        if uploader.cut is None:
            uploader.take_over(self._views, wall_ms)
        self.report = uploader.round(
            self._views, budget_bytes=self._budget_bytes, now_ms=wall_ms, chunk=self.chunk
        )
        if self._wanted:
            self.proofs = uploader.proved(self._wanted, budget_bytes=self._proof_bytes)
        orphans = uploader.sweep(wall_ms) if not uploader.is_swept else []
        if orphans:
            logger.info("%d objects that nothing leads to are removed, %s first", len(orphans), orphans[0])
        uploader.clean(wall_ms, count=CLEAN_PER_ROUND)


class RemoteCopy:
    """Keeps the copy; made when there is a store."""

    def __init__(
        self,
        loop: Loop,
        catalogue: Catalogue,
        topics: TopicDirectory,
        vnodes: Vnodes,
        config: Callable[[], Config],
        *,
        uploader: Uploader,
        probe: Callable[[], None],
        submit: Offload,
        journal: RemoteJournal,
        reads: ReadRate,
        random: Random,
    ) -> None:
        """`probe` tries whether the store can be trusted; `submit` runs work in a thread.

        `reads` is the rate of what is read from the store: proofs are within it, beside clients' reads.
        """
        self._loop = loop
        self._catalogue = catalogue
        self._vnodes = vnodes
        self._config = config
        self._uploader = uploader
        self._probe = probe
        self._submit = submit
        self.journal = journal
        self._reads = reads
        self._random = random
        self.tiering = Tiering(catalogue, topics, loop, self._by_log)
        self._probed = False
        self._retry_ms = RETRY_MS
        self._told_ms: int | None = None
        self._told_unproved_ms: int | None = None
        self._told_waiting_ms: int | None = None
        self.counts = CopyCounts()
        self.heartbeat: Heartbeat | None = None
        """The signs of life beside the copy, if they are asked for."""
        self.farewell: Callable[[], object] = lambda: None
        """Is called at a clean end, when nothing more will be acknowledged."""
        journal.needs_cut = self._hurry
        self._later(0 if journal.is_wanted else FIRST_DELAY_MS)

    def numbers(self, now_ms: int) -> dict[str, int]:
        """Return the numbers for metrics; `lag_ms` is -1 before the first round."""
        counts = self.counts
        return {
            "uploaded_bytes": counts.uploaded_bytes,
            "rounds": counts.rounds,
            "failures": counts.failures,
            "segments_missing": counts.segments_missing,
            "past_cuts": self._uploader.past_cuts,
            "stopped": int(counts.state is CopyState.STOPPED),
            "lag_ms": now_ms - counts.covered_ms if counts.covered_ms >= 0 else -1,
            **({} if self.heartbeat is None else self.heartbeat.numbers()),
            **self.journal.numbers(),
        }

    def _later(self, delay_ms: int) -> None:
        self._timer: Timer = self._loop.timers.add(self._loop.clock.turn_ms + delay_ms, self._begin)

    def _hurry(self) -> None:
        """Begin the next round now, for what waits for its cut.  A store that is away is left alone."""
        if not self._timer.is_over and self.counts.state in (CopyState.STARTING, CopyState.COPYING):
            self._timer.cancel()
            self._later(0)

    def try_now(self) -> bool:
        """Do a round here and now, before the loop runs; return whether all that is here counts.

        A node of several tells the others of what it has. What its last process has left on the disk may be
        in no store, so it is to be told, or read, only after this.
        """
        self._timer.cancel()
        self._round(self._loop.clock.turn_ms, run_here)
        return self.journal.is_open

    def _begin(self, now_ms: int) -> None:
        if not self._loop.stopping:
            self._round(now_ms, self._submit)

    def _round(self, now_ms: int, submit: Offload) -> None:
        with self._tried_again():
            rate = self._config().remote_log_manager_copy_max_bytes_per_second
            may_read = not self._reads.wait_ms(0)
            work = _Round(
                self._uploader,
                None if self._probed else self._probe,
                self._views(),
                budget_bytes=min(ROUND_BYTES, rate),
                wall_ms=self._loop.clock.wall_ms(now_ms),
                wanted=self.tiering.take() if may_read else {},
                proof_bytes=min(PROOF_BYTES, self._config().remote_log_manager_fetch_max_bytes_per_second),
                chunk=self.journal.chunk,
            )
            places = self._places()

            def done(error: Exception | None) -> None:
                with self._tried_again():
                    self._done(work, error, rate, now_ms)
                    if work.report is not None and not work.report.segments_missing:
                        self._covered(places, is_marked=work.chunk is not None)

            submit(work.run, done)

    @contextmanager
    def _tried_again(self) -> Iterator[None]:
        """Let an error of our own end a round, and not the copy: the next round begins later all the same."""
        try:
            yield
        except Exception:
            self._later(RETRY_MAX_MS)
            raise

    def _done(self, work: _Round, error: Exception | None, rate: int, began_ms: int) -> None:
        self._probed = self._probed or work.probed
        # A round that is complete counts, even if tidying up after it failed.
        if work.report is not None:
            self._took(work.report, began_ms)
        error = error or work.error
        self._reads.wait_ms(work.proofs.read_bytes)  # counts them
        # So do its proofs: each object was compared for itself.
        self.tiering.let_go(work.proofs.records)
        if work.proofs.error is not None:
            self._unproved(work.proofs.error)
        if work.report is not None:
            self.tiering.look(self._loop.clock.turn_ms)
        if error is None and work.report is not None:
            self._succeeded(work.report, rate, self._loop.clock.turn_ms - began_ms)
            if work.chunk is None and self.journal.is_waited_for:
                self._hurry()  # this round's cut does not say where a journal follows it
        elif error is not None:
            self._failed(error)

    def _views(self) -> dict[str, LogView]:
        """Return all logs at this moment: what is durable now includes all that it followed from."""
        return {name: vnode.log.view() for name, vnode in self._copied().items()}

    def _places(self) -> dict[str, LogPlace]:
        """Return where the frames of all logs end at this moment."""
        return {name: vnode.log.place for name, vnode in self._copied().items()}

    def _copied(self) -> dict[str, Vnode]:
        """Return all logs that are copied: the catalogue's is, unless it is another node's."""
        own = {META: self._vnodes.meta} if self.journal.keeps_catalogue else {}
        return own | self._by_log()

    def _covered(self, places: dict[str, LogPlace], *, is_marked: bool) -> None:
        """Tell the journal of a cut that has all logs; `is_marked`: it says where the journal follows it."""
        cut = self._uploader.cut
        assert cut is not None
        self.journal.covered(places, epoch=cut.epoch if is_marked else None)

    def _by_log(self) -> dict[str, Vnode]:
        """Return the vnodes by the names that their logs have in the store."""
        found = {}
        for name, vnodes in self._vnodes.items():
            database = self._catalogue.databases.get(name)
            if database is not None:
                for vnode in vnodes:
                    found[f"{database.directory}/{VNODE_PREFIX}{vnode.index}"] = vnode
        return found

    @property
    def epoch(self) -> int | None:
        """The epoch under which this process keeps the copy; None before it does."""
        cut = self._uploader.cut
        return None if cut is None else cut.epoch

    def uploaded_in(self, vnode: Vnode) -> frozenset[int]:
        """Return the closed segments of a vnode's log that the store has, by base version."""
        database = self._catalogue.databases.get(vnode.database)
        if database is None:
            return frozenset()
        return self._uploader.named.get(f"{database.directory}/{VNODE_PREFIX}{vnode.index}", frozenset())

    def _took(self, report: RoundReport, began_ms: int) -> None:
        counts = self.counts
        if not report.segments_missing:
            counts.covered_ms = began_ms
        counts.rounds += 1
        counts.uploaded_bytes += report.uploaded_bytes
        counts.segments_missing = report.segments_missing
        if report.segments_missing and self.journal.is_waited_for:
            self._tell_waiting(report.segments_missing)
        if report.problem and report.problem != counts.problem:
            logger.error("the copy in the object store lacks a segment: %s", report.problem)
        counts.problem = report.problem

    def _tell_waiting(self, segments: int) -> None:
        """Say that acknowledgements wait for a copy that is whole."""
        now_ms = self._loop.clock.turn_ms
        if self._told_waiting_ms is None or now_ms >= self._told_waiting_ms + LOG_EVERY_MS:
            self._told_waiting_ms = now_ms
            logger.warning(
                "acknowledgements of durability 'remote' wait until the object store has the data of the"
                " directory: %d segments are still to be copied",
                segments,
            )

    def _succeeded(self, report: RoundReport, rate: int, took_ms: int) -> None:
        if self.counts.state is not CopyState.COPYING:
            logger.info("logs are copied to the object store")
        self.counts.state, self._retry_ms, self._told_ms = CopyState.COPYING, RETRY_MS, None
        rest_ms = report.uploaded_bytes * 1_000 // rate - took_ms
        lag_ms = self._config().kawal_remote_lag_ms
        goes_on = report.segments_missing and not report.problem
        self._later(max(rest_ms, 0 if goes_on else lag_ms - took_ms, 1))

    def _unproved(self, error: ObjectStoreError) -> None:
        """Count objects that could not be read back: the copy goes on, and their segments stay here."""
        self.counts.failures += 1
        now_ms = self._loop.clock.turn_ms
        if self._told_unproved_ms is None or now_ms >= self._told_unproved_ms + LOG_EVERY_MS:
            self._told_unproved_ms = now_ms
            logger.warning("segments stay on the disk until their objects can be read back: %s", error)

    def _failed(self, error: Exception) -> None:
        counts, now_ms = self.counts, self._loop.clock.turn_ms
        counts.failures += 1
        if isinstance(error, Fenced | RemoteAhead | RemoteDamaged | OtherWorkers):
            counts.state, counts.problem = CopyState.STOPPED, str(error)
            self.tiering.stop()
            self.journal.stop(error)
            logger.error("nothing more is copied to the object store until the next start: %s", error)
            return
        counts.state, counts.problem = CopyState.AWAY, str(error)
        if self._told_ms is None or now_ms >= self._told_ms + LOG_EVERY_MS:
            self._told_ms = now_ms
            level = logging.ERROR if isinstance(error, StoreRefuses) else logging.WARNING
            logger.log(level, "the copy in the object store waits, and is tried again: %s", error)
        self._later(self._retry_ms + self._random.randrange(self._retry_ms))
        longest_ms = WANTED_RETRY_MAX_MS if self.journal.is_wanted else RETRY_MAX_MS
        self._retry_ms = min(2 * self._retry_ms, longest_ms)
