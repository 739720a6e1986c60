"""A partition whose batches are counted: a topic with kawal.message.ids.

Its ledgers are leader epochs of its own, above the server's.  A roll changes neither the leader nor the
log, so clients with an older epoch are served as before: only the epochs from before the start of the server
are fenced, since a crash or a repair may lie between.
"""

from __future__ import annotations

from collections.abc import Callable

from broker.config.topic_settings import TopicSettings
from broker.storage.partition import Partition
from wal.ledgers import Limits


class CountedPartition(Partition):
    """The partition; `count` lets its log count."""

    __slots__ = ()

    def count(self, settings: Callable[[], TopicSettings]) -> CountedPartition:
        """Have its batches counted, in ledgers with the limits of these settings; return the partition."""
        log = self.vnode.log
        self.least_epoch = log.ledger_epoch(self.stream_id)
        log.count_entries(self.stream_id, lambda: limits_of(settings()))
        return self


def limits_of(settings: TopicSettings) -> Limits:
    """Return the limits of the topic's ledgers."""
    return Limits(settings.kawal_ledger_max_entries, settings.segment_bytes, settings.segment_ms)
