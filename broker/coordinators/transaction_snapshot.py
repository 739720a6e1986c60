"""The transactions at one moment, for metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from broker.coordinators.coordinators import NodeCoordinators
    from broker.storage.vnode import Vnode

HANGING_AFTER_MS: Final = 300_000
"""The time beyond the longest timeout after which an open transaction hangs, as in Kafka's metric.

Source: KIP-664, PartitionsWithLateTransactionsCount.
"""


@dataclass(slots=True)
class TransactionSnapshot:
    """The exposed state of transactions."""

    counts: Counter[str] = field(default_factory=Counter)
    """As the coordinator counts them (groups/transactions/show.py); empty if it was never used."""

    hanging_partitions: int = 0
    """Partitions with a transaction that is open for too long to end by itself."""

    @classmethod
    def steps(
        cls, coordinators: NodeCoordinators, vnodes: Iterable[Vnode], *, timeout_max_ms: int, now_ms: int
    ) -> Generator[None, None, TransactionSnapshot]:
        """Copy the state in steps, on the event loop."""
        since_ms = now_ms - timeout_max_ms - HANGING_AFTER_MS
        hanging = 0
        for vnode in vnodes:
            hanging += yield from vnode.log.hanging_streams(since_ms)
        transactions = coordinators.maybe_transactions
        if transactions is None:
            return cls(hanging_partitions=hanging)
        with transactions.step(now_ms) as machine:
            return cls(machine.counts(), hanging)
