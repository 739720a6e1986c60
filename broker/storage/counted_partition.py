"""A partition whose batches are counted: a topic with kawal.message.ids.

Its ledgers are leader epochs of its own, above the server's.  A roll changes neither the leader nor the
log, so clients with an older epoch are served as before: only the epochs from before the start of the server
are fenced, since a crash or a repair may lie between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from broker.config.topic_settings import TopicSettings
from broker.storage.partition import Partition
from wal.ledgers import Limits

CURSORS_MAX: Final = 8
"""The readers at different places of a partition for which the number of their next batch is kept."""


class CountedPartition(Partition):
    """The partition; `count` lets its log count."""

    __slots__ = ("_compaction", "_numbers", "_settings")

    _settings: Callable[[], TopicSettings]

    def count(self, settings: Callable[[], TopicSettings]) -> CountedPartition:
        """Have its batches counted, in ledgers with the limits of these settings; return the partition."""
        log = self.vnode.log
        self.least_epoch = log.ledger_epoch(self.stream_id)
        log.count_entries(self.stream_id, lambda: limits_of(settings()))
        self._settings = settings
        # By offset, the number of the batch that begins there.
        self._numbers: dict[int, int] = {}
        self._compaction = log.compaction(self.stream_id)
        return self

    @property
    def shows_ids(self) -> bool:
        """Whether records are given to readers with their ids."""
        return self._settings().kawal_message_id_header

    def number_at(self, offset: int) -> int | None:
        """Return the number of the batch at which a reader goes on, if it is kept."""
        self._forget_compacted()
        return self._numbers.get(offset)

    def note_number(self, offset: int, number: int) -> None:
        """Keep the number of a batch at which a reader will go on."""
        self._forget_compacted()
        if offset not in self._numbers and len(self._numbers) >= CURSORS_MAX:
            del self._numbers[next(iter(self._numbers))]
        self._numbers[offset] = number

    def _forget_compacted(self) -> None:
        """Forget numbers that a compaction may have put at other offsets."""
        compaction = self.vnode.log.compaction(self.stream_id)
        if compaction != self._compaction:
            self._compaction = compaction
            self._numbers.clear()


def limits_of(settings: TopicSettings) -> Limits:
    """Return the limits of the topic's ledgers."""
    return Limits(settings.kawal_ledger_max_entries, settings.segment_bytes, settings.segment_ms)
