"""What the log keeps of one stream: where it begins, where it ends, and what is durable of it."""

from __future__ import annotations

from wal.scan import NO_TIMESTAMP


class Stream:
    """One stream of a vnode: log_start <= high_watermark <= next_offset, all of them offsets.

    Slotted and small, because a vnode may host 100,000.
    """

    __slots__ = (
        "dropped",
        "epochs",
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

    def __init__(self, stream_id: int) -> None:
        self.stream_id = stream_id
        self.next_offset = 0
        """The log end: what the next batch gets."""
        self.high_watermark = 0
        """What readers may see ends here: for durability `disk` what is synced, for `os` what is written."""
        self.log_start = 0
        self.leader_epoch = 0
        self.epochs: tuple[tuple[int, int], ...] = ()
        """(epoch, first offset) of every epoch after 0, oldest first."""
        self.max_timestamp = NO_TIMESTAMP
        self.max_timestamp_offset = -1
        """Base offset of the extent that has it."""
        self.size_bytes = 0
        """Bytes of the visible batches from the log start on, extents counted whole."""
        self.dropped = False
        self.segment_hint = 0
        """Base version of the sealed segment that was read last: where to look first."""
