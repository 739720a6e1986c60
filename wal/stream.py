"""The log's record of one stream: its beginning, its end, and the part of it that is durable."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator
from typing import Final

from wal.format import COPIES_BIT
from wal.ledgers import Ledgers
from wal.scan import NO_TIMESTAMP

LOG_STREAM: Final = 2**64 - 1
"""Not a stream: the log's own leader epoch, in which every stream begins. The id is one of copies, none of
which ever has it, so that no caller sees it."""

EPOCHS_LOST: Final = 1 << 16
"""The most epochs of a stream that are taken to have begun in what was lost, whatever the clock says: each
takes a batch, and a stream keeps 10,000 ledgers."""

EPOCH_ZERO_MS: Final = 1_735_689_600_000
"""2025-01-01, before any stream began at epoch 0. Seconds since then fit into an epoch until 2093."""

EPOCH_MAX: Final = 2**31 - 1


def epoch_after_loss(epoch: int, wall_ms: int) -> int:
    """Return a leader epoch above all that may have been given out, of which `epoch` is the last one known.

    It is a time, in seconds: so it is also above the epochs of histories of which nothing is left, as when a
    backup is restored twice. That is true as long as streams begin less than an epoch a second, on average.
    Much of what is left of the numbers is never taken at once, as the clock may be wrong.
    """
    wanted = max(epoch + EPOCHS_LOST, (wall_ms - EPOCH_ZERO_MS) // 1_000)
    return 1 + min(wanted, epoch + (EPOCH_MAX - 1 - epoch) // 2)


class Stream:
    """One stream of a vnode: log_start <= high_watermark <= next_offset, all of them offsets.

    Slotted and small, because a vnode may host 100,000.
    """

    __slots__ = (
        "clean_end",
        "copies_id",
        "dropped",
        "epochs",
        "forgotten",
        "high_watermark",
        "leader_epoch",
        "ledgers",
        "log_start",
        "max_timestamp",
        "max_timestamp_offset",
        "next_offset",
        "segment_hint",
        "size_bytes",
        "stream_id",
    )

    def __init__(
        self,
        stream_id: int,
        next_offset: int = 0,
        log_start: int = 0,
        size_bytes: int = 0,
        max_timestamp: int = NO_TIMESTAMP,
        max_timestamp_offset: int = -1,
    ) -> None:
        self.stream_id = stream_id
        self.next_offset = next_offset
        """The log end: the offset of the next batch."""
        self.high_watermark = next_offset
        """The end of what readers may see: what is synced (durability `disk`) or written (`os`)."""
        self.log_start = log_start
        self.size_bytes = size_bytes
        """The size of the visible batches from the log start on, with extents counted whole."""
        self.max_timestamp = max_timestamp
        self.max_timestamp_offset = max_timestamp_offset
        """The base offset of an extent or batch that has it."""
        self.clean_end = 0
        """The end of the compacted part: below it only the copies are read."""
        self.copies_id = 0
        """The stream of the copies; 0 when there never were any. Later ones have higher ids."""
        self.leader_epoch = 0
        self.epochs: tuple[tuple[int, int], ...] = ()
        """(epoch, first offset) of every epoch after 0, oldest first."""
        self.ledgers: Ledgers | None = None
        """The numbers of its batches, where they are counted: a topic with kawal.message.ids."""
        self.dropped = False
        """Whether a drop was appended: no further batch is accepted."""
        self.forgotten = False
        """Whether the drop is durable: the log no longer knows the stream."""
        self.segment_hint = 0
        """The base version of the sealed segment that was read last, to be tried first."""

    def epoch_at(self, offset: int) -> int:
        """Return the leader epoch in which the record at an offset was written."""
        row = bisect_right(self.epochs, offset, key=_start_of)
        return self.epochs[row - 1][0] if row else 0

    def epoch_up_to(self, epoch: int) -> tuple[int, int]:
        """Return the largest leader epoch up to a given one, and the offset at which it ends."""
        row = bisect_right(self.epochs, epoch, key=_epoch_of)
        end = self.epochs[row][1] if row < len(self.epochs) else self.high_watermark
        return self.epochs[row - 1][0] if row else 0, end

    def begin_epoch(self, epoch: int, offset: int) -> None:
        """Note that a durable epoch begins there; epochs without records, or all deleted, are forgotten."""
        self.leader_epoch = max(self.leader_epoch, epoch)
        if epoch and (not self.epochs or self.epochs[-1][0] < epoch):
            end = bisect_left(self.epochs, offset, key=_start_of)
            first = max(0, bisect_right(self.epochs, self.log_start, hi=end, key=_start_of) - 1)
            self.epochs = (*self.epochs[first:end], (epoch, offset))

    @property
    def data_start(self) -> int:
        """The offset below which no original batch is read: it is deleted, or its copy is read."""
        return max(self.log_start, self.clean_end)


def _epoch_of(begun: tuple[int, int]) -> int:
    return begun[0]


def _start_of(begun: tuple[int, int]) -> int:
    return begun[1]


class StreamIds(Container[int], Iterable[int]):
    """A live view of the ids of the streams that callers know, without those of copies."""

    __slots__ = ("_streams",)

    def __init__(self, streams: dict[int, Stream]) -> None:
        self._streams = streams

    def __contains__(self, stream_id: object) -> bool:
        return stream_id in self._streams

    def __iter__(self) -> Iterator[int]:
        return (stream_id for stream_id in self._streams if stream_id < COPIES_BIT)
