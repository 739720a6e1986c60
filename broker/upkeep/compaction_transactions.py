"""The transactions that a pass of compaction meets: their aborted records go first, their markers last.

A marker may go once no record of its transaction is left, and then only `delete.retention.ms` later, as a
tombstone does: a reader that saw the records must also see the outcome of their transaction.
Source: Kafka 4.3, CleanedTransactionMetadata.
"""

from __future__ import annotations

from collections.abc import Iterable

from protocol.record_reader import iter_records, read_transaction_marker
from protocol.records import BatchHeader
from wal.producers import AbortedTransaction


class CleanedTransactions:
    """The transactions of a pass, fed with each of its batches in offset order; one object for each walk."""

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._coming = sorted(aborted, key=lambda transaction: transaction.first_offset, reverse=True)
        self._aborted: dict[int, bool] = {}
        """Producer of an aborted transaction that has begun -> whether any of its records were met."""
        self._committed: set[int] = set()
        """Producers with a committed transaction of which records were met."""

    def may_go(self, header: BatchHeader, batch: memoryview) -> bool:
        """Whether the batch is aborted, a marker whose transaction has no records left, or holds nothing."""
        while self._coming and self._coming[-1].first_offset <= header.last_offset:
            self._aborted.setdefault(self._coming.pop().producer_id, False)
        if header.is_left_behind:
            return True
        if header.is_control:
            return self._marker_may_go(header, batch)
        if not header.is_transactional:
            return False
        if header.producer_id in self._aborted:
            self._aborted[header.producer_id] = True
            return True
        self._committed.add(header.producer_id)
        return False

    def _marker_may_go(self, header: BatchHeader, batch: memoryview) -> bool:
        record = next(iter_records(batch), None)
        if record is None:  # an earlier pass has emptied it
            return True
        marker = read_transaction_marker(record)
        if marker is None:
            return False
        if marker.is_commit:
            found = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not found
        return not self._aborted.pop(header.producer_id, False)
