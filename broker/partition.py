"""One topic-partition as the broker sees it: a stream on a vnode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker.topics import Topic
    from broker.vnode import Vnode

LEADER_EPOCH: Final = 0
"""The epoch of every partition: one node leads them all for life (clients-wire.md section 2)."""


class Partition:
    """The join of a topic's partition with its stream; made when first touched."""

    __slots__ = ("index", "stream_id", "topic", "vnode")

    def __init__(self, topic: Topic, index: int, vnode: Vnode) -> None:
        self.topic = topic
        self.index = index
        self.stream_id = topic.stream_id(index)
        self.vnode = vnode

    @property
    def log_start(self) -> int:
        """The first offset that can be fetched."""
        return self.vnode.log.log_start(self.stream_id)

    @property
    def high_watermark(self) -> int:
        """The offset behind the last one that can be fetched."""
        return self.vnode.log.high_watermark(self.stream_id)

    @property
    def last_stable_offset(self) -> int:
        """The offset up to which no transaction is open."""
        log = self.vnode.log
        return log.producers(self.stream_id).last_stable_offset(self.high_watermark, self.log_start)
