"""The log of the driver of these tests, as far as it is about transactions."""

from __future__ import annotations

from groups.coordinator import Coordinator
from groups.effects import Effects, EncodedRecord, EndMarker, Stamp


class StoredTransactions:
    """The transactions of the records in a log, and their ends."""

    def __init__(self, log: dict[int, list[EncodedRecord]]) -> None:
        self._log = log
        # By partition and place in its log; the ends are those before the record there.
        self._stamps: dict[tuple[int, int], Stamp] = {}
        self._ends: dict[tuple[int, int], list[EndMarker]] = {}

    def write(self, effects: Effects) -> None:
        """Append what has become durable."""
        partition, transaction = effects.partition, effects.transaction
        records = self._log[partition]
        if isinstance(transaction, EndMarker):
            self._ends.setdefault((partition, len(records)), []).append(transaction)
        elif transaction is not None:
            for number in range(len(effects.records)):
                self._stamps[partition, len(records) + number] = transaction
        records.extend(effects.records)

    def replay(self, coordinator: Coordinator, partition: int) -> None:
        """Have a coordinator read a partition."""
        records = self._log[partition]
        for index in range(len(records) + 1):
            for marker in self._ends.get((partition, index), ()):
                for _ in coordinator.replay_end(partition, marker.producer_id, commit=marker.commit):
                    pass
            if index == len(records):
                return
            stamp = self._stamps.get((partition, index))
            if stamp is None:
                coordinator.replay(partition, *records[index])
            else:
                coordinator.replay_staged(partition, stamp, *records[index])
