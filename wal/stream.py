"""What the log keeps of one stream: where it begins, where it ends, and what is durable of it."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator

from wal.format import COPIES_BIT
from wal.scan import NO_TIMESTAMP


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
        """The log end: what the next batch gets."""
        self.high_watermark = next_offset
        """What readers may see ends here: for durability `disk` what is synced, for `os` what is written."""
        self.log_start = log_start
        self.size_bytes = size_bytes
        """Bytes of the visible batches from the log start on, extents counted whole."""
        self.max_timestamp = max_timestamp
        self.max_timestamp_offset = max_timestamp_offset
        """Base offset of an extent or batch that has it."""
        self.clean_end = 0
        """Compaction went up to here: below it the copies are read, and nothing else."""
        self.copies_id = 0
        """Stream of the copies; 0 when there never were any. Later ones have higher ids."""
        self.leader_epoch = 0
        self.epochs: tuple[tuple[int, int], ...] = ()
        """(epoch, first offset) of every epoch after 0, oldest first."""
        self.dropped = False
        """A drop was appended: no further batch is taken."""
        self.forgotten = False
        """The drop is durable: the log does not know the stream any more."""
        self.segment_hint = 0
        """Base version of the sealed segment that was read last: where to look first."""

    @property
    def data_start(self) -> int:
        """Below it nothing is read from where it was first written: it is deleted, or its copies are read."""
        return max(self.log_start, self.clean_end)


class StreamIds(Container[int], Iterable[int]):
    """The ids of the streams that callers know: without those of copies. Shows what is there now."""

    __slots__ = ("_streams",)

    def __init__(self, streams: dict[int, Stream]) -> None:
        self._streams = streams

    def __contains__(self, stream_id: object) -> bool:
        return stream_id in self._streams

    def __iter__(self) -> Iterator[int]:
        return (stream_id for stream_id in self._streams if stream_id < COPIES_BIT)
