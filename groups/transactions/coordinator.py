"""The transaction coordinator: everything that the rest of the broker may ask of transactional ids.

It is a pure state machine like the group coordinator (groups/coordinator.py), with the same driver. Besides
the records of its changes it gives out orders for markers:

    for order in coordinator.take_orders():        after the effects of the same step were appended
        append a marker to each partition of order.partitions, if order.prepared is durable or None, or if
        it is earlier in the same log; if it has failed, is_wanted(order) is false
        all are durable, or in the log that has the decision:     coordinator.marked(order, now_ms)
        one of them could not be stored:                          coordinator.not_marked(order, now_ms)

A partition that does not exist any more needs no marker. An order may come again, after a crash for instance:
a marker that repeats another changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterator
from collections.abc import Set as AbstractSet
from typing import Final

from groups.context import InternalError
from groups.discarding import discard_transactions
from groups.effects import Effects, EncodedRecord, Stamp
from groups.transactions import ending, enlisting, initializing, show, timeouts
from groups.transactions.config import TransactionConfig
from groups.transactions.records import encode_transaction
from groups.transactions.states import PREPARED, TransactionState
from groups.transactions.table import Answer, MarkerOrder, Table, TakeId
from groups.transactions.transaction import TopicPartition, Transaction
from groups.transactions.wide_records import decode_in_steps
from protocol.error_codes import ErrorCode

TIMERS_PER_TICK: Final = 25
"""The timers run at once, at about 0.1 ms each."""

PARTITIONS_PER_RECORD: Final = 20
"""The partitions of a transaction that take as long to encode as the rest of its record."""


class TransactionCoordinator:
    """All transactional ids of this node."""

    def __init__(self, *, config: TransactionConfig, take_id: TakeId, wall_ms: Callable[[int], int]) -> None:
        """Make a coordinator that has loaded nothing yet.

        `take_id` gives out producer ids, maybe later; it must see to it that the effects are taken then.
        """
        self._table = Table(config, take_id, wall_ms, timeouts.arm)
        self._replayed: dict[int, set[str]] = {}
        timeouts.schedule_cleanup(self._table)

    def _at(self, now_ms: int) -> Table:
        self._table.now_ms = now_ms
        return self._table

    # --- the driver's side ----------------------------------------------------------------------------------

    def take_effects(self) -> list[Effects]:
        """Return what must be appended now, in this order."""
        return self._table.journal.take()

    def durable(self, effects: Effects, now_ms: int) -> None:
        """Report that the records of `effects`, and all before them in their partition, are on the disk."""
        self._at(now_ms).journal.durable(effects, now_ms)

    def failed(self, effects: Effects, error: ErrorCode, now_ms: int) -> None:
        """Report that the records of `effects`, and all after them in their partition, will not be stored."""
        self._at(now_ms).journal.failed(effects, error, now_ms)

    def take_orders(self) -> list[MarkerOrder]:
        """Return the markers to write; see the top of this file."""
        return self._table.take_orders()

    def is_wanted(self, order: MarkerOrder) -> bool:
        """Whether an order still applies: its decision was not lost, nor were its markers ordered anew."""
        return self._table.orders.get(order.transactional_id) is order

    def marked(self, order: MarkerOrder, now_ms: int) -> None:
        """Report that the markers of an order are written."""
        ending.marked(self._at(now_ms), order)

    def not_marked(self, order: MarkerOrder, now_ms: int) -> None:
        """Report that they could not be written; they are ordered again later."""
        ending.not_marked(self._at(now_ms), order)

    def tick(self, now_ms: int) -> None:
        """Do what is due, some of it if it is very much."""
        table = self._at(now_ms)
        table.timers.run_due(
            now_ms, lambda key, error: self._failed(key.group_id, error), at_most=TIMERS_PER_TICK
        )

    def _failed(self, transactional_id: str, error: Exception) -> None:
        partition = self._table.partition(transactional_id) if transactional_id else None
        self._table.internal_errors.append(InternalError(partition, transactional_id, error))

    def take_internal_errors(self) -> list[InternalError]:
        """Return the errors of our own in timers; the partitions that they name are replayed."""
        errors, self._table.internal_errors = self._table.internal_errors, []
        return errors

    def next_deadline(self) -> int | None:
        """Return the monotonic moment of the next `tick`; it may be early, never late."""
        return self._table.timers.next_deadline()

    def configure(self, config: TransactionConfig) -> None:
        """Use other settings from now on; the number of partitions must stay the same."""
        count = self._table.config.transaction_state_log_num_partitions
        assert config.transaction_state_log_num_partitions == count
        self._table.config = config

    def topics_changed(
        self, now_ms: int, *, created: Collection[str], deleted: Collection[str], grown: Collection[str]
    ) -> None:
        """Topics do not concern it: partitions that are gone when markers are written need none."""

    # --- loading --------------------------------------------------------------------------------------------

    def replay(
        self, partition: int, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> Iterator[None]:
        """Apply one stored record of a partition that is being loaded, a wide one in steps.

        Raises: ProtocolError.
        """
        found = yield from decode_in_steps(key, value)
        if found is None:
            return
        transactional_id, transaction = found
        if self._table.partition(transactional_id) != partition:
            # A client wrote it by hand; the id may be served from its own partition already.
            return
        replayed = self._replayed.setdefault(partition, set())
        if transaction is None:
            self._table.unset(transactional_id)
            replayed.discard(transactional_id)
        else:
            self._table.set(transaction)
            replayed.add(transactional_id)

    def needs_module(self, _key: bytes | memoryview) -> str:
        """Return "": all modules are there."""
        return ""

    def replay_staged(
        self, partition: int, stamp: Stamp, key: bytes | memoryview, value: bytes | memoryview | None
    ) -> None:
        """No record of this topic is part of a transaction: one that a client wrote is ignored."""

    def replay_end(self, partition: int, producer_id: int, *, commit: bool) -> tuple[()]:
        """Likewise."""
        return ()

    def loaded(self, partitions: Collection[int], now_ms: int) -> None:
        """Serve these partitions; decisions whose markers may be missing are carried out."""
        table = self._at(now_ms)
        table.loaded.update(partitions)
        for partition in partitions:
            for transactional_id in self._replayed.pop(partition, ()):
                known = table.ids[transactional_id]
                if known.state in PREPARED:
                    table.order(known, None)
                elif known.state == TransactionState.ONGOING:
                    table.arm(table, known, now_ms)

    def discard(self, now_ms: int) -> Generator[None, None, None]:
        """Forget everything in steps; requests that wait are refused."""
        return discard_transactions(self._at(now_ms))

    def is_whole(self, partition: int) -> bool:
        """Whether a partition is served; one with records that cannot be read is not."""
        return partition in self._table.loaded

    def leave_to_others(self, partitions: Collection[int]) -> None:
        """Refuse requests for the ids of these partitions: another node coordinates them."""
        self._table.elsewhere = frozenset(partitions)

    def unload(self, partitions: Collection[int], now_ms: int) -> None:
        """Forget these partitions; requests that wait are told to look for the coordinator."""
        table = self._at(now_ms)
        table.loaded.difference_update(partitions)
        table.journal.abandon(partitions, ErrorCode.NOT_COORDINATOR, now_ms)
        for transactional_id in table.waiting_ids():
            if table.partition(transactional_id) in partitions:
                table.refuse_waiting(transactional_id, ErrorCode.NOT_COORDINATOR)
        for transactional_id in [name for name in table.ids if table.partition(name) in partitions]:
            table.unset(transactional_id)
            table.orders.pop(transactional_id, None)

    def snapshot(self, partition: int, records_max: int = 1_000) -> Iterator[list[EncodedRecord]]:
        """Yield the present state of a partition in lists, each to be appended before the next step."""
        table = self._table
        records: list[EncodedRecord] = []
        size = 0
        for number, transactional_id in enumerate(list(table.ids)):
            known = table.ids.get(transactional_id)
            if known is not None and table.partition(transactional_id) == partition:
                records.append(encode_transaction(known))
                size += 1 + len(known.partitions) // PARTITIONS_PER_RECORD
            if size >= records_max or number % records_max == records_max - 1:
                # The last list may be empty.
                yield records
                records, size = [], 0
        yield records

    # --- requests -------------------------------------------------------------------------------------------

    def init_producer(self, init: initializing.Init, reply: initializing.Reply, now_ms: int) -> None:
        """Serve InitProducerId with a transactional id."""
        initializing.init_producer(self._at(now_ms), init, reply)

    def enlist(
        self,
        member: enlisting.Member,
        partitions: AbstractSet[TopicPartition],
        answer: Answer,
        now_ms: int,
        *,
        client_version: int,
    ) -> None:
        """Add partitions to a transaction; `answer` when that is durable."""
        enlisting.enlist(self._at(now_ms), member, partitions, answer, client_version=client_version)

    def is_enlisted(self, member: enlisting.Member, partition: TopicPartition) -> ErrorCode:
        """Return NONE if the partition is part of the producer's open transaction, else the reason."""
        return enlisting.is_enlisted(self._table, member, partition)

    def after_writes(self, transactional_id: str, answer: Answer, now_ms: int) -> None:
        """Answer NONE when all that is known of an id is durable, or the error."""
        self._at(now_ms).answer(transactional_id, lambda: answer(ErrorCode.NONE), answer)

    def end(self, end: ending.End, reply: ending.Reply, now_ms: int) -> None:
        """Serve EndTxn."""
        ending.end_transaction(self._at(now_ms), end, reply)

    def partition_of(self, transactional_id: str) -> int:
        """Return the partition of __transaction_state that holds an id."""
        return self._table.partition(transactional_id)

    # --- display --------------------------------------------------------------------------------------------

    @property
    def is_loading(self) -> bool:
        """Whether some ids are not known yet."""
        return show.is_loading(self._table)

    def listed(self, wanted: show.Filter, now_ms: int) -> Iterator[Transaction | None]:
        """Yield the transactions that a filter lets through; None now and then."""
        return show.listed(self._at(now_ms), wanted)

    def described(self, transactional_id: str) -> Transaction | ErrorCode:
        """Return one transaction, or the reason why it is not shown."""
        return show.described(self._table, transactional_id)

    def counts(self) -> Counter[str]:
        """Return the metrics."""
        return show.counts(self._table)
