"""Compaction of a view's source: what was found in batches that it has replaced is forgotten.

A pass of compaction makes other batches count below its clean end, all at once and between two slices of the
event loop's work.  What views remember of the old ones would show records that are no longer there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from broker.storage.vnode import Vnode
    from broker.view_topics.view_cache import KeptRanges


class CompactedSource:
    """The stream that a view reads, and the last pass of compaction over it that the view has noticed."""

    __slots__ = ("_noticed", "_stream_id", "_vnode")

    def __init__(self, vnode: Vnode, stream_id: int) -> None:
        self._vnode = vnode
        self._stream_id = stream_id
        self._noticed = self.compaction

    @property
    def compaction(self) -> int:
        """The last pass; what was read before it changed is not to be remembered any more."""
        return self._vnode.log.compaction(self._stream_id)

    def is_replaced(self) -> bool:
        """Whether batches have been replaced since this was last asked; costs a fraction of a microsecond."""
        compaction = self.compaction
        if compaction == self._noticed:
            return False
        self._noticed = compaction
        return True

    def forget_replaced(self, ranges: KeptRanges[Any]) -> None:
        """Forget the ranges found in batches that have been replaced."""
        if self.is_replaced():
            ranges.forget_below(self._vnode.log.clean_end(self._stream_id))
