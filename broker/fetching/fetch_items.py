"""The partitions that a fetch asks for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from uuid import UUID

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic

PartitionKey = tuple[str | UUID, int]

ITEM_BYTES: Final = 420
"""The memory of an item with its key and its place in a table (measured: 402)."""


class FetchItem:
    """One partition that a fetch asks for, and what its session last told the client about it."""

    __slots__ = (
        "by_id",
        "fetch_offset",
        "index",
        "last_fetched_epoch",
        "leader_epoch",
        "max_bytes",
        "name",
        "sent_high_watermark",
        "sent_log_start",
        "topic",
        "topic_id",
    )

    def __init__(self, name: str, topic_id: UUID, index: int, *, by_id: bool) -> None:
        self.by_id = by_id
        self.name = name
        self.topic_id = topic_id
        self.index = index
        self.fetch_offset = 0
        self.max_bytes = 0
        self.leader_epoch = -1
        self.last_fetched_epoch = -1
        # The topic as it was last found; it tells a deleted topic from one that was never known.
        self.topic: Topic | None = None
        self.sent_high_watermark = -1
        self.sent_log_start = -1

    def is_news(self, *, high_watermark: int, log_start: int) -> bool:
        """Return whether the session's client does not know these marks yet, and remember them as sent."""
        news = self.sent_high_watermark != high_watermark or self.sent_log_start != log_start
        self.sent_high_watermark = high_watermark
        self.sent_log_start = log_start
        return news
