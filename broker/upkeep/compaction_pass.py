"""One pass of compaction over one partition, a chunk at a time: threads read records, the loop appends.

    note the keys of             [first dirty, uncleanable)   ends early, before a batch, if the keys are full
    copy the records kept of     [log start, clean end)       each chunk durable before the next one is read
    let the copies count         one meta entry; when it is durable, the pass is done

One chunk is in memory besides the keys.  After each chunk the pass rests for as long as it worked, so that it
takes at most half of a processor, or for longer if `log.cleaner.io.max.bytes.per.second` demands it.  Any
fault ends the pass and leaves the partition as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Final

from broker.catalogue.metadata import Metadata
from broker.config.kawal_topic_keys import COLUMNS_KEY
from broker.config.topic_settings import TopicSettings
from broker.loop.internal_errors import ErrorPlace
from broker.loop.loop import Loop
from broker.storage.partition import Partition
from broker.upkeep.compaction_filter import BatchFilter, LastRecord, note_keys
from broker.upkeep.compaction_keys import KeyOffsets
from broker.upkeep.compaction_policy import DirtyPart
from broker.upkeep.compaction_runs import EntryRuns
from broker.upkeep.compaction_tags import tag_reader
from broker.upkeep.compaction_transactions import CleanedTransactions
from protocol.error_codes import ErrorCode
from protocol.errors import Malformed
from protocol.records import BatchHeader, iter_batches, read_batch_header
from wal.disk import DiskError
from wal.errors import WalError
from wal.producers import AbortedTransaction
from wal.reader import Part
from wal.segment import FileRange

if TYPE_CHECKING:
    from broker.storage.vnode import Vnode

CHUNK_BYTES: Final = 1 << 18
"""Bytes read at once, 4,000 small batches: 10 ms on the loop. A larger batch is a chunk of its own."""

COPIES_PER_TURN: Final = 1_000
"""Batches appended before other work gets a turn: about 5 ms."""


@dataclass(slots=True)
class Result:
    """The result of a pass; `problem` is the reason for its failure."""

    problem: str = ""
    unwanted: bool = False
    """The server stops, or the topic was deleted or is no longer compacted."""
    unreadable: bool = False
    """A batch cannot be read, so the next pass would end in the same way."""
    clean_end: int = 0
    read_bytes: int = 0
    kept_bytes: int = 0
    records_read: int = 0
    records_kept: int = 0
    earliest_horizon_ms: int | None = None
    """The time of day at which the first of the remaining tombstones and markers may go."""


class CompactionPass:
    """A pass that runs by itself after `begin`, until it calls `ended(partition, result, now_ms)`."""

    def __init__(
        self,
        metadata: Metadata,
        loop: Loop,
        partition: Partition,
        *,
        settings: TopicSettings,
        dirty: DirtyPart,
        ended: Callable[[Partition, Result, int], None],
    ) -> None:
        self.partition = partition
        self.result = Result()
        self._metadata = metadata
        self._loop = loop
        self._ended = ended
        self._log = partition.vnode.log
        self._settings = settings
        self._dirty = dirty
        config = metadata.config
        self._bytes_per_second = config.log_cleaner_io_max_bytes_per_second
        load = config.log_cleaner_io_buffer_load_factor
        self._keys = KeyOffsets(int(config.log_cleaner_dedupe_buffer_size * load))
        self._tags = tag_reader(partition.topic.configs.get(COLUMNS_KEY.name, ""))
        self._offset = dirty.first_dirty
        self._clean_end = max(dirty.uncleanable, dirty.first_dirty)
        self._copies_id = 0
        self._began_ms = 0
        self._chunk_bytes = 0
        self._next_offset = 0
        self._copies: Iterator[bytes | bytearray] = iter(())
        self._copies_count = self._appended_count = 0
        self._start = 0
        """The offset at which copying began; and the bytes from there on that the copies replace."""
        self._replaced_bytes = 0
        self._transactions: CleanedTransactions
        self._filter: BatchFilter
        self._runs: EntryRuns | None = None
        """What is left of emptied batches, if the partition's batches are counted."""

    def begin(self, now_ms: int) -> None:
        """Start; `ended` may be called at once."""
        copies_id = self._log.begin_copies()
        if copies_id is None:
            self._end("the log takes no copies now", now_ms)
            return
        self._copies_id = copies_id
        self._transactions = CleanedTransactions(self._aborted(self._dirty.first_dirty))
        self._note_next(now_ms)

    def _aborted(self, start: int) -> list[AbortedTransaction]:
        return self._log.producers(self.partition.stream_id).aborted_between(start, self._clean_end)

    # --- the keys --------------------------------------------------------------------------------------

    def _note_next(self, now_ms: int) -> None:
        if self._offset >= self._clean_end or self._keys.full:
            # Up to here all keys are known; later batches wait for the next pass.
            self._clean_end = min(self._clean_end, max(self._offset, self._dirty.first_dirty))
            self._begin_copying(now_ms)
            return
        self._in_thread(self._note, self._noted, now_ms)

    def _note(self, parts: list[Part]) -> None:
        for header, batch in self._batches(parts):
            if self._keys.full and header.base_offset > self._dirty.first_dirty:
                self._next_offset = header.base_offset
                return
            note_keys(self._keys, self._transactions, batch, self._dirty.first_dirty, self._tags)

    def _noted(self, now_ms: int) -> None:
        self._offset = self._next_offset
        self._rest_before(self._note_next, now_ms)

    # --- the copies ------------------------------------------------------------------------------------

    def _begin_copying(self, now_ms: int) -> None:
        start = self.partition.log_start
        producers = self._log.producers(self.partition.stream_id)
        self._filter = BatchFilter(
            self._keys,
            aborted=self._aborted(start),
            producers={
                producer_id: LastRecord(*last) for producer_id, last in producers.last_records().items()
            },
            clean_end=self._clean_end,
            now_ms=self._loop.clock.wall_ms(now_ms),
            delete_retention_ms=self._settings.delete_retention_ms,
            tags=self._tags,
        )
        ledgers = self._log.ledgers(self.partition.stream_id)
        if ledgers is not None:
            self._runs = EntryRuns(ledgers.offsets[:])
        self._offset = self._start = start
        self._copy_next(now_ms)

    def _copy_next(self, now_ms: int) -> None:
        if self._offset >= self._clean_end:
            self._let_copies_count(now_ms)
        else:
            self._in_thread(self._filter_chunk, self._append, now_ms)

    def _filter_chunk(self, parts: list[Part]) -> None:
        copies: list[bytes | bytearray] = []
        for header, batch in self._batches(parts):
            left = self._filter.left_of(batch)
            if self._runs is not None:
                copies += self._runs.take(header, left)
            elif left is not None:
                copies.append(left)
        if self._runs is not None and self._next_offset >= self._clean_end:
            copies += self._runs.end()
        self._copies, self._copies_count, self._appended_count = iter(copies), len(copies), 0

    def _append(self, now_ms: int) -> None:
        if self._gave_up(now_ms):
            return
        vnode = self.partition.vnode
        try:
            for batch in islice(self._copies, COPIES_PER_TURN):
                self.result.kept_bytes += len(batch)
                vnode.last_version = self._log.append_copy(self._copies_id, batch)
                self._appended_count += 1
        except (WalError, DiskError) as error:
            self._end(str(error), now_ms)
            return
        if self._appended_count < self._copies_count:
            self._loop.scheduler.soon(lambda: self._append(self._loop.clock.turn_ms))
            return
        self._replaced_bytes += self._log.replaced_bytes(
            self.partition.stream_id, self._offset, self._next_offset
        )
        self._offset = self._next_offset
        vnode.wait_durable(vnode.last_version, self, now_ms)

    def _let_copies_count(self, now_ms: int) -> None:
        if self._gave_up(now_ms):
            return
        vnode = self.partition.vnode
        unmoved = self.partition.log_start == self._start
        try:
            version = self._log.let_copies_count(
                self.partition.stream_id,
                clean_end=self._clean_end,
                copies_id=self._copies_id,
                replaced_bytes=self._replaced_bytes if unmoved else None,
            )
        except (WalError, DiskError) as error:
            self._end(str(error), now_ms)
            return
        self.result.clean_end = self._clean_end
        vnode.last_version = version
        vnode.wait_durable(version, self, now_ms)

    def appended(self, _vnode: Vnode, error: ErrorCode | None, now_ms: int) -> None:
        """Continue once appended copies are on the disk, or end the pass if they are lost."""
        if error is not None:
            self._end("the copies were lost", now_ms)
        elif self.result.clean_end:
            self._end("", now_ms)
        else:
            self._rest_before(self._copy_next, now_ms)

    # --- chunks ----------------------------------------------------------------------------------------

    def _in_thread(
        self, work: Callable[[list[Part]], None], then: Callable[[int], None], now_ms: int
    ) -> None:
        """Read the next chunk and work on it in a thread, then call `then` with the time of that moment."""
        if self._gave_up(now_ms):
            return
        self._began_ms = now_ms
        self._offset = max(self._offset, self.partition.log_start)
        try:
            read = self._log.read(self.partition.stream_id, self._offset, CHUNK_BYTES)
        except (WalError, DiskError) as error:
            self._end(str(error), now_ms)
            return
        self._next_offset = min(read.next_offset, self._clean_end)
        self._chunk_bytes = read.size_bytes
        problems: list[Exception] = []

        def guarded() -> None:
            try:
                work(read.parts)
            except Exception as error:  # noqa: BLE001  (it ends the pass; see _go_on)
                problems.append(error)

        def done(_error: Exception | None) -> None:
            self._loop.scheduler.soon(lambda: self._go_on(problems, then, self._loop.clock.turn_ms))

        self._loop.scheduler.offload(guarded, done)

    def _go_on(self, problems: list[Exception], then: Callable[[int], None], now_ms: int) -> None:
        if problems:
            problem = problems[0]
            # What the disk refuses is tried again; records that cannot be read would end every pass.
            self.result.unreadable = not isinstance(problem, WalError | DiskError)
            if not isinstance(problem, Malformed | WalError | DiskError):
                what = f"compaction of {self.partition.topic.name}-{self.partition.index} has ended"
                self._loop.internal_errors.note(ErrorPlace.THREAD, what, problem)
            self._end(f"from offset {self._offset} on: {problems[0]}", now_ms)
        else:
            self.result.read_bytes += self._chunk_bytes
            then(now_ms)

    def _batches(self, parts: list[Part]) -> Iterator[tuple[BatchHeader, memoryview]]:
        """Yield the batches of a chunk below the clean end."""
        data = b"".join(part.read() if isinstance(part, FileRange) else part for part in parts)
        for batch in iter_batches(data):
            header = read_batch_header(batch)
            if header.base_offset >= self._clean_end:
                return
            yield header, batch

    def _rest_before(self, step: Callable[[int], None], now_ms: int) -> None:
        worked_ms = max(0, now_ms - self._began_ms)
        pace_ms = int(self._chunk_bytes * 1_000 / self._bytes_per_second)
        self._loop.timers.add(now_ms + max(worked_ms, pace_ms - worked_ms), step)

    # --- the end ---------------------------------------------------------------------------------------

    def _gave_up(self, now_ms: int) -> bool:
        """End the pass if it is no longer wanted, and return whether it ended."""
        topic = self.partition.topic
        gone = topic.topic_id not in self._metadata.catalogue.by_id
        if gone or self._loop.stopping or not self._metadata.topics.settings(topic).compacts:
            self.result.unwanted = True
            self._end("no longer wanted", now_ms)
            return True
        return False

    def _end(self, problem: str, now_ms: int) -> None:
        self.result.problem = problem
        if problem:
            self._log.give_up_copies(self._copies_id)
        else:
            self.result.records_read = self._filter.records_read
            self.result.records_kept = self._filter.records_kept
            self.result.earliest_horizon_ms = self._filter.earliest_horizon_ms
        self._ended(self.partition, self.result, now_ms)
