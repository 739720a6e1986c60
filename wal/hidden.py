"""Frames of an earlier process that the object store may lack (class `remote`), hidden until it has them.

A frame counts when the store has it, and a checkpoint has only what counts.  So after a start the frames that
follow the checkpoint may be of either kind; until the journal, or a cut, is known to have them all, readers
end before the first of them.  A log that is closed, or crashes, before that gets no checkpoint that has them.
"""

from __future__ import annotations


class Hidden:
    """The frames that a start found after the checkpoint."""

    __slots__ = ("sizes", "starts", "version")

    def __init__(self) -> None:
        self.version: int | None = None
        """The first version in them; None: there are none."""
        self.starts: dict[int, int] = {}
        """The first offset in them, by stream."""
        self.sizes: dict[int, int] = {}
        """The bytes of the batches in them, by stream."""

    def add(self, stream_id: int, base_offset: int, size_bytes: int) -> None:
        """Take a batch; those of a stream come in their order."""
        self.starts.setdefault(stream_id, base_offset)
        self.sizes[stream_id] = self.sizes.get(stream_id, 0) + size_bytes
