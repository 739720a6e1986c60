"""Acquired records of one partition that were found in any order, and their batches, each of them once."""

from __future__ import annotations

from collections.abc import Sequence

from groups.share.found import Acquired
from protocol.messages.share_fetch import AcquiredRecords, PartitionData
from protocol.wire import RecordParts


class Gathered:
    """The part of an answer for one partition, in the making."""

    def __init__(self) -> None:
        self._acquired: list[Acquired] = []
        self._batches: dict[int, bytes] = {}

    def add(
        self, acquired: Sequence[Acquired], offsets: Sequence[tuple[int, int]], batches: Sequence[memoryview]
    ) -> int:
        """Add acquired records with the batches that have them; return the bytes that are new."""
        self._acquired += acquired
        size_bytes = 0
        for (first, last), batch in zip(offsets, batches, strict=True):
            has_some = any(part.first <= last and part.last >= first for part in acquired)
            if has_some and first not in self._batches:
                self._batches[first] = bytes(batch)
                size_bytes += len(batch)
        return size_bytes

    def answer(self, data: PartitionData) -> None:
        """Put everything into the answer in order of offsets."""
        data.acquired_records = [
            AcquiredRecords(
                first_offset=part.first, last_offset=part.last, delivery_count=part.delivery_count
            )
            for part in sorted(self._acquired)
        ]
        parts = [memoryview(self._batches[first]) for first in sorted(self._batches)]
        if parts:
            data.records = RecordParts(parts, sum(map(len, parts)))
