"""Guards against hanging transactions: a batch that comes after the end of its transaction is not stored.

Before the first batch of a transaction is appended to a partition, the coordinator is asked whether the
transaction has the partition. Its answer may be overtaken by the transaction's end; the batch would then
begin one that never ends, and nothing after it would ever be stable. So a guard is set before the coordinator
is asked, and every marker removes it: an append whose guard is no longer there is refused.
Source: KIP-890; Kafka 4.3's VerificationGuard.
"""

from __future__ import annotations

from collections import Counter


def offsets_key(index: int) -> int:
    """Return the number for a partition of __consumer_offsets, which is used before the topic exists."""
    return -1 - index


class TransactionGuards:
    """The producers that are being verified, each with one stream."""

    __slots__ = ("_counts", "_next", "_numbers")

    def __init__(self) -> None:
        self._numbers: dict[tuple[int, int], int] = {}
        self._counts: Counter[tuple[int, int]] = Counter()
        self._next = 0

    def set(self, stream_id: int, producer_id: int) -> int:
        """Set a guard, or share the one that is set; return its number. `release` must be called once."""
        place = (stream_id, producer_id)
        number = self._numbers.get(place)
        if number is None:
            number = self._numbers[place] = self._next = self._next + 1
        self._counts[place] += 1
        return number

    def holds(self, stream_id: int, producer_id: int, number: int) -> bool:
        """Whether no marker was written since the guard was set."""
        return self._numbers.get((stream_id, producer_id)) == number

    def marked(self, stream_id: int, producer_id: int) -> None:
        """Remove the guards of a producer whose marker is written."""
        self._numbers.pop((stream_id, producer_id), None)

    def release(self, stream_id: int, producer_id: int) -> None:
        """Note that one request no longer needs its guard."""
        place = (stream_id, producer_id)
        self._counts[place] -= 1
        if not self._counts[place]:
            del self._counts[place]
            self._numbers.pop(place, None)

    def __len__(self) -> int:
        return len(self._counts)
