"""Reading for a share fetch: one pass over the partitions of a session, acquiring what is available.

Each partition is read from the first record that is available on, a piece at a time, until the request has
enough. Of each piece only the heads of batches are looked at; the member gets those with records that it has
acquired.

    read a piece --> its batches --> acquire --> the acquired ranges, and the batches with them

Control batches, and for groups with share.isolation.level=read_committed those of aborted transactions, are
no records for delivery: their offsets are archived, like those that compaction has left out.
Source: KIP-932; Kafka 4.3's DelayedShareFetch and ShareFetchUtils.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from broker.catalogue.metadata import Metadata
from broker.coordinators.share_settings import NO_QUEUE_SETTINGS, QueueSettings
from broker.errors import RequestError, storage_error
from broker.fetching.gathered import Gathered
from broker.fetching.pieces import PIECE_BYTES, Piece, is_aborted, read_shown_piece
from broker.fetching.record_choice import SCAN_BYTES_MAX
from broker.fetching.share_ahead import PlacesInTurn
from broker.fetching.share_places import Place, Span, end_of, find_partition, first_available
from broker.fetching.share_selection import Selection
from broker.loop.clock import Clock
from broker.loop.slices import ITEMS_PER_STEP, Offload, Until
from broker.storage.partition import Partition
from broker.view_topics.view_partition import ViewPartition, ViewRead
from groups.errors import GroupError, NotLoaded
from groups.share.delivery import AcquireMode, Limits, Portion, Wish
from groups.share.found import Acquired, Found
from groups.share.state_records import ShareKey
from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import AcquiredRecords, LeaderIdAndEpoch, PartitionData
from protocol.records import read_batch_header
from protocol.wire import RecordParts
from wal.disk import DiskError
from wal.errors import OffsetOutOfRange, WalError
from wal.transactions import AbortedTransaction

if TYPE_CHECKING:
    from broker.coordinators.shares import Shares

logger = logging.getLogger("kawal.broker")

BATCHES_PER_STEP: Final = 50
"""The batches acquired between two looks at the time, in about 0.5 ms."""

NO_LEADER: Final = 0
"""The leader, and its epoch, where none is named: as Kafka leaves them."""

UNKNOWN_LEADER: Final = -1
"""Both, to a client that believes this node to be the leader: it looks for it anew."""

ReadSteps = Generator[Until | None, None, None]


class Batch(NamedTuple):
    """One batch of a piece, and where it lies in it."""

    first: int
    last: int
    position: int
    end_position: int


class Reading(NamedTuple):
    """The wish of a request, and its member."""

    group_id: str
    member_id: str
    max_records: int
    batch_size: int
    mode: AcquireMode
    max_bytes: int


def blank(index: int, code: ErrorCode = ErrorCode.NONE, message: str | None = None) -> PartitionData:
    """Return the answer for a partition without records."""
    leader = UNKNOWN_LEADER if code == ErrorCode.NOT_LEADER_OR_FOLLOWER else NO_LEADER
    return PartitionData(
        partition_index=index,
        error_code=code,
        error_message=message,
        current_leader=LeaderIdAndEpoch(leader_id=leader, leader_epoch=leader),
        records=b"",
        acquired_records=[],
    )


class ShareReader:
    """One pass over partitions: what they give to a member within the limits of its request."""

    def __init__(
        self,
        metadata: Metadata,
        shares: Shares,
        reading: Reading,
        *,
        limits: Limits,
        read_committed: bool,
        offload: Offload,
        clock: Clock,
        settings: QueueSettings = NO_QUEUE_SETTINGS,
    ) -> None:
        """Begin a pass, of several turns perhaps: locks run from the one in which a record is acquired."""
        self._metadata = metadata
        self._shares = shares
        self._reading = reading
        self._limits = limits
        self._read_committed = read_committed
        self._offload = offload
        self._clock = clock
        self._settings = settings
        self._began_ms = clock.turn_ms
        self._selects: Selection | None = None
        self._scanned_bytes = self._batches = 0
        self._turns = PlacesInTurn(metadata)
        self.count = self.size_bytes = 0
        self.has_error = False
        # Whether the start of a partition was moved: there may be more than was found.
        self.has_made_room = False
        # Views, each with the offset up to which it was read.
        self.views: list[tuple[ViewPartition, int]] = []
        self.found: dict[Place, PartitionData] = {}  # with records for the member, or with errors

    @property
    def _selection(self) -> Selection:
        """The selection, made when there is something to select from."""
        if self._selects is None:
            clocks = (self._began_ms, self._clock.wall_ms(self._began_ms))
            self._selects = Selection(
                self._metadata,
                self._shares,
                self._settings,
                limits=self._limits,
                offload=self._offload,
                clocks=clocks,
            )
        return self._selects

    @property
    def _now_ms(self) -> int:
        return self._clock.turn_ms

    @property
    def records_max(self) -> int:
        """The most records that the request may have."""
        return self._reading.max_records

    @property
    def steals(self) -> bool:
        """Whether members that find nothing take records of those that sit idle."""
        return self._settings.steal_idle_ms > 0

    @property
    def accepts(self) -> bool:
        """Whether what is delivered counts as accepted."""
        return self._settings.auto_accepts

    @property
    def is_full(self) -> bool:
        """Whether the request has all that it may have."""
        return self.count >= self._reading.max_records or self.size_bytes >= self._reading.max_bytes

    def read(self, places: Iterable[Place]) -> ReadSteps:
        """Read these partitions in this order; yield where much had to be looked at."""
        for number, place in enumerate(self._turns.each(places)):
            if number and not number % ITEMS_PER_STEP:
                yield None
            if self.is_full:
                return
            data: PartitionData | None = None
            try:
                span = self._span(place)
                if span is not None:
                    data = blank(place[1])
                    yield from self._read_span(span, data)
            except RequestError as error:
                data = blank(place[1], error.code)
            except (NotLoaded, OffsetOutOfRange):
                # The group's state is still read, for which clients know no error, or the log lost its
                # beginning meanwhile: the next fetch finds more.
                continue
            except GroupError as error:
                data = blank(place[1], error.code, error.message)
            except (WalError, DiskError) as error:
                logger.error("share fetch of %s-%d: %s", *place, error)
                data = blank(place[1], storage_error(error).code)
            if data is None:
                continue
            if data.error_code:
                self.has_error = True
            if data.error_code or data.acquired_records:
                self.found[place] = data

    def _span(self, place: Place) -> Span | None:
        """Return what could be acquired of a partition; None if that is nothing.

        Raises: RequestError, GroupError.
        """
        partition = find_partition(self._metadata, place)
        key = ShareKey(self._reading.group_id, *place)
        member_id = self._reading.member_id
        offset = first_available(self._shares, key, partition, self._limits, self._now_ms, member_id)
        end = end_of(partition, read_committed=self._read_committed)
        if offset is not None and offset < end:
            return Span(partition, key, offset, end)
        if isinstance(partition, ViewPartition):
            self.views.append((partition, end))
        return None

    def _read_span(self, span: Span, data: PartitionData) -> ReadSteps:
        partition, key, offset, end = span
        wish = Wish(
            self._reading.member_id,
            self._reading.max_records - self.count,
            max(self._reading.batch_size, 1),
            self._reading.mode,
        )
        portion = Portion(wish, self._limits)
        parts: list[memoryview] = []
        if self._selection.has_classes:
            yield from self._look_ahead(key, partition, wish, end)
            yield from self._by_class(key, partition, wish, portion, data, end)
            return
        while offset < end and not portion.is_full and self.size_bytes < self._reading.max_bytes:
            piece = yield from self._piece(partition, offset, end)
            if piece.end <= offset:
                break
            yield from self._acquire(key, partition, wish, portion, piece, data, parts)
            offset = piece.end
            self._scanned_bytes += len(piece.data)
            if self._selection.looks_at_headers and self._scanned_bytes > SCAN_BYTES_MAX:
                break
        if parts:
            data.records = RecordParts(parts, sum(map(len, parts)))

    # --- by class -------------------------------------------------------------------------------------------

    def _look_ahead(self, key: ShareKey, partition: Partition, wish: Wish, end: int) -> ReadSteps:
        """Note the classes of records up to the end of the window, or of the log; nothing is acquired."""
        while self._scanned_bytes <= SCAN_BYTES_MAX:
            with self._shares.step(self._now_ms) as machine:
                found = machine.find(key)
                assert found is not None
                offset, room = found.end, self._limits.in_flight_max - (found.end - found.start)
            if offset >= end or room <= 0:
                return
            piece = yield from self._piece(partition, max(offset, partition.log_start), end)
            if piece.end <= offset:
                return
            yield from self._acquire(key, partition, wish, Portion(wish, self._limits), piece, None, [])
            self._scanned_bytes += len(piece.data)

    def _by_class(
        self,
        key: ShareKey,
        partition: Partition,
        wish: Wish,
        portion: Portion,
        data: PartitionData,
        end: int,
    ) -> ReadSteps:
        """Acquire from the records whose classes are known, the largest class first."""
        gathered = Gathered()
        before: tuple[int, int] | None = None
        while not portion.is_full and self.size_bytes < self._reading.max_bytes:
            with self._shares.step(self._now_ms) as machine:
                best = machine.best(key, self._reading.member_id, self._now_ms)
                known = machine.find(key)
            if best is None or best == before or best[1] >= end or known is None:
                break
            before = best
            piece = yield from self._piece(partition, best[1], min(end, known.end))
            batches = self._deliverable(partition, piece)
            slices = [piece.data[batch.position : batch.end_position] for batch in batches]
            offsets = [(batch.first, batch.last) for batch in batches]
            found = Found(best[1], offsets, min(piece.end, known.end))
            found = yield from self._selection.select_known(key, partition, found, slices)
            acquired = self._acquired(key, wish._replace(priority=best[0]), found, portion)
            self.size_bytes += gathered.add(acquired, offsets, slices)
            self.count += sum(part.last - part.first + 1 for part in acquired)
        gathered.answer(data)

    # --- reading --------------------------------------------------------------------------------------------

    def _piece(self, partition: Partition, offset: int, end: int) -> Generator[Until | None, None, Piece]:
        read = ViewRead(
            offset,
            min(PIECE_BYTES, self._reading.max_bytes - self.size_bytes),
            minimum_one=not self.size_bytes,
            now_ms=self._now_ms,
            reader=(self._reading.group_id, self._reading.member_id),
        )
        ask = self._turns.asking(self._span)
        piece = yield from read_shown_piece(partition, read, end, self._offload, ask)
        if isinstance(partition, ViewPartition):
            self.views.append((partition, piece.end))
        return piece

    def _acquire(
        self,
        key: ShareKey,
        partition: Partition,
        wish: Wish,
        portion: Portion,
        piece: Piece,
        data: PartitionData | None,
        parts: list[memoryview],
    ) -> ReadSteps:
        """Acquire what is available of a piece, some batches at a time; without `data` there is nothing."""
        batches = self._deliverable(partition, piece)
        first = piece.first
        for start in range(0, max(len(batches), 1), BATCHES_PER_STEP):
            some = batches[start : start + BATCHES_PER_STEP]
            is_last = start + BATCHES_PER_STEP >= len(batches)
            end = piece.end if is_last else some[-1].last + 1
            found = Found(first, [(batch.first, batch.last) for batch in some], end)
            if self._selection.is_needed(partition):
                data_of = [piece.data[batch.position : batch.end_position] for batch in some]
                found = yield from self._selection.select(key, partition, found, data_of)
            acquired = self._acquired(key, wish, found, portion)
            if data is not None:
                self._take(acquired, some, piece, data, parts)
            if portion.is_full:
                return
            first = end
            self._batches += len(some)
            if self._batches >= BATCHES_PER_STEP:
                self._batches = 0
                yield None

    def _acquired(self, key: ShareKey, wish: Wish, found: Found, portion: Portion) -> list[Acquired]:
        """Acquire of what was found, and note whether the start has moved."""
        start = self._shares.look(key).start
        with self._shares.step(self._now_ms) as machine:
            acquired = machine.acquire(key, wish, found, self._now_ms, portion)
        self.has_made_room = self.has_made_room or self._shares.look(key).start > start
        return acquired

    def _deliverable(self, partition: Partition, piece: Piece) -> list[Batch]:
        """Return the batches of a piece with records for delivery."""
        aborted: list[AbortedTransaction] = []
        if self._read_committed and not isinstance(partition, ViewPartition):
            aborted = partition.aborted_between(piece.first, piece.end)
        found: list[Batch] = []
        position = 0
        while position < len(piece.data):
            header = read_batch_header(piece.data, position)
            end_position = position + header.size_bytes
            if not header.is_control and not (aborted and is_aborted(header, aborted)):
                found.append(Batch(header.base_offset, header.last_offset, position, end_position))
            position = end_position
        return found

    def _take(
        self,
        acquired: list[Acquired],
        batches: list[Batch],
        piece: Piece,
        data: PartitionData,
        parts: list[memoryview],
    ) -> None:
        """Add acquired records to the answer, with the batches that have them."""
        data.acquired_records += [
            AcquiredRecords(
                first_offset=part.first, last_offset=part.last, delivery_count=part.delivery_count
            )
            for part in acquired
        ]
        number = 0
        start = stop = -1
        for part in acquired:
            self.count += part.last - part.first + 1
            while number < len(batches) and batches[number].last < part.first:
                number += 1
            # The last batch of one range may have records of the next one, too.
            while number < len(batches) and batches[number].first <= part.last:
                batch = batches[number]
                if batch.position > stop:
                    self._add(parts, piece, start, stop)
                    start = batch.position
                stop = batch.end_position
                if batch.last > part.last:
                    break
                number += 1
        self._add(parts, piece, start, stop)

    def _add(self, parts: list[memoryview], piece: Piece, start: int, stop: int) -> None:
        if stop > start >= 0:
            parts.append(piece.data[start:stop])
            self.size_bytes += stop - start
