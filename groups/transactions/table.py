"""All transactional ids of this node, and the way of their changes to the log.

A change counts at once, so that the next request is judged by it, and is taken back if it cannot be stored.
Every answer, a refusal too, leaves when all that it builds on is durable: `Table.answer`.

The ids are in the order of their last change, the one unused for longest first: what expires, or is forgotten
because memory is short, is at the front.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator
from typing import Final, NamedTuple

from groups.context import InternalError
from groups.effects import Done, Effects, Journal
from groups.record_keys import partition_for
from groups.timers import TimerKey, Timers
from groups.transactions.config import TransactionConfig
from groups.transactions.records import encode_key, encode_transaction
from groups.transactions.states import PREPARED, UNDECIDED, TransactionState
from groups.transactions.transaction import TopicPartition, Transaction, by_topic
from protocol.error_codes import ErrorCode

Arm = Callable[["Table", Transaction, int], None]
"""Sets the timer of an open transaction, for a given moment at the earliest."""

Answer = Callable[[ErrorCode], None]
"""Called once, with NONE or the reason why what was asked for has not happened."""

TakeId = Callable[[Callable[[int | ErrorCode], None]], None]
"""Calls back with a producer id that was never given out before, or with the error; maybe at once."""

ID_BYTES: Final = 900
"""The memory of an id without partitions, beyond its name (measured)."""

PARTITION_BYTES: Final = 110
"""The memory of a partition in a transaction (measured)."""

WAIT_MS: Final = 500
"""The longest that a request waits for the markers of the transaction before; then its client tries again."""

RETRY_MS: Final = 1_000
"""The delay before markers that could not be stored are written again."""

LOOKED_AT: Final = 100
"""The ids looked at for one to forget: those with an open transaction come to the front, too."""


class MarkerOrder(NamedTuple):
    """The end of a transaction that must be written to its partitions."""

    transactional_id: str
    producer_id: int
    epoch: int
    commit: bool
    client_version: int
    """TV2: the epoch is above that of the transaction's records."""

    enlisted: frozenset[TopicPartition]
    state_partition: int
    """The partition of __transaction_state that has the decision."""

    prepared: Effects | None
    """The decision on its way to the disk: no marker may become durable before it. None: it is there."""

    @property
    def partitions(self) -> tuple[TopicPartition, ...]:
        """The partitions in their order, which takes a millisecond for 2,000 of them."""
        return tuple((topic, index) for topic, indexes in by_topic(self.enlisted) for index in indexes)


class _Waiter(NamedTuple):
    again: Callable[[], None]
    refuse: Answer


class Table:
    """The transactional ids by name; one for each coordinator."""

    def __init__(
        self, config: TransactionConfig, take_id: TakeId, wall_ms: Callable[[int], int], arm: Arm
    ) -> None:
        self.config = config
        self.take_id = take_id
        self.arm = arm
        self._wall_ms = wall_ms
        self.now_ms = 0
        self.ids: dict[str, Transaction] = {}
        self.size_bytes = 0
        self.loaded: set[int] = set()
        # Those that another node leads; they count as loaded.
        self.elsewhere: Collection[int] = frozenset()
        self.journal = Journal()
        self.timers = Timers()
        self.internal_errors: list[InternalError] = []
        self.orders: dict[str, MarkerOrder] = {}
        self._new_orders: list[MarkerOrder] = []
        self._waiting: dict[str, list[_Waiter]] = {}
        self.begun = self.committed = self.aborted = self.timed_out = self.fenced = 0
        self.ended_ms = 0
        """The sum of the durations of all that have ended."""
        self.states: Counter[TransactionState] = Counter()

    @property
    def wall_ms(self) -> int:
        """The time of day, in ms since 1970; it may jump."""
        return self._wall_ms(self.now_ms)

    def partition(self, transactional_id: str) -> int:
        """Return the partition of __transaction_state that holds the id."""
        return partition_for(transactional_id, self.config.transaction_state_log_num_partitions)

    def is_loaded(self, transactional_id: str) -> bool:
        """Whether the id's partition has been replayed."""
        return self.partition(transactional_id) in self.loaded

    def unserved(self, transactional_id: str) -> ErrorCode | None:
        """Return why the id is not served here, or not yet; None if it is."""
        partition = self.partition(transactional_id)
        if partition in self.elsewhere:
            return ErrorCode.NOT_COORDINATOR
        return None if partition in self.loaded else ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    # --- changes --------------------------------------------------------------------------------------------

    def put(self, transaction: Transaction, done: Done) -> Effects:
        """Change or add an id; `done` when that is durable, or was taken back."""
        transactional_id = transaction.transactional_id
        before = self.set(transaction)
        return self.journal.write(
            self.partition(transactional_id),
            [encode_transaction(transaction)],
            [lambda: self._restore(transactional_id, before)],
            done,
        )

    def forget(self, transactional_id: str) -> None:
        """Delete an id without a transaction."""
        before = self.unset(transactional_id)
        self.journal.write(
            self.partition(transactional_id),
            [(encode_key(transactional_id), None)],
            [lambda: self._restore(transactional_id, before)],
            _nothing,
        )

    def _restore(self, transactional_id: str, before: Transaction | None) -> None:
        if before is None:
            self.unset(transactional_id)
        else:
            self.set(before)
        if before is None or before.state not in PREPARED:
            self.orders.pop(transactional_id, None)
        if before is not None and before.state == TransactionState.ONGOING:
            # Its timer may have run out meanwhile.
            self.arm(self, before, self.now_ms + RETRY_MS)

    def set(self, transaction: Transaction) -> Transaction | None:
        """Put an id at the end, without writing it; return what it was before."""
        before = self.unset(transaction.transactional_id)
        self.ids[transaction.transactional_id] = transaction
        self.states[transaction.state] += 1
        self.size_bytes += _weight(transaction)
        return before

    def unset(self, transactional_id: str) -> Transaction | None:
        """Remove an id, without writing that; return what it was."""
        before = self.ids.pop(transactional_id, None)
        if before is not None:
            self.states[before.state] -= 1
            self.size_bytes -= _weight(before)
        return before

    def answer(self, transactional_id: str, answer: Callable[[], None], refuse: Answer) -> None:
        """Answer once everything that was written so far about the id is durable, maybe at once."""

        def done(error: ErrorCode | None, now_ms: int) -> None:
            if error is None:
                answer()
            else:
                refuse(lost(error))

        self.journal.after_writes(self.partition(transactional_id), done, self.now_ms)

    # --- memory ---------------------------------------------------------------------------------------------

    def make_room(self) -> bool:
        """Forget the ids unused for longest until there is room for another; False if all are in use."""
        limit = self.config.kawal_transactions_max_bytes
        while self.size_bytes > limit:
            oldest = next(self._unused(), None)
            if oldest is None:
                return False
            self.forget(oldest)
        return True

    def _unused(self) -> Iterator[str]:
        for _, transaction in zip(range(LOOKED_AT), self.ids.values(), strict=False):
            if transaction.state not in UNDECIDED and self.is_loaded(transaction.transactional_id):
                yield transaction.transactional_id

    # --- markers --------------------------------------------------------------------------------------------

    def order(self, transaction: Transaction, prepared: Effects | None) -> None:
        """Have the markers of a decided transaction written."""
        order = MarkerOrder(
            transaction.transactional_id,
            transaction.producer_id,
            transaction.epoch,
            commit=transaction.state.name == "PREPARE_COMMIT",
            client_version=transaction.client_version,
            enlisted=transaction.partitions,
            state_partition=self.partition(transaction.transactional_id),
            prepared=prepared,
        )
        self.orders[order.transactional_id] = order
        self._new_orders.append(order)

    def order_again(self, transactional_id: str) -> None:
        """Have markers written again a moment from now: they, or the record of their end, were lost."""

        def again(now_ms: int) -> None:
            self.now_ms = now_ms
            transaction = self.ids.get(transactional_id)
            if transaction is not None and transaction.state in PREPARED and self.is_loaded(transactional_id):
                self.order(transaction, None)

        self.timers.set(TimerKey("markers", transactional_id), self.now_ms + RETRY_MS, again)

    def take_orders(self) -> list[MarkerOrder]:
        """Return the orders since the last call that still apply."""
        taken, self._new_orders = self._new_orders, []
        return [order for order in taken if self.orders.get(order.transactional_id) is order]

    # --- waiting for markers --------------------------------------------------------------------------------

    def wait(self, transactional_id: str, again: Callable[[], None], refuse: Answer) -> None:
        """Call `again` when the transaction's markers are written; refuse if that takes too long."""
        self._waiting.setdefault(transactional_id, []).append(_Waiter(again, refuse))
        key = TimerKey("wait", transactional_id)
        self.timers.set_once(
            key, self.now_ms + WAIT_MS, lambda now_ms: self._give_up(transactional_id, now_ms)
        )

    def _give_up(self, transactional_id: str, now_ms: int) -> None:
        self.now_ms = now_ms
        self.refuse_waiting(transactional_id, ErrorCode.CONCURRENT_TRANSACTIONS)

    def refuse_waiting(self, transactional_id: str, code: ErrorCode) -> None:
        """Refuse the requests that wait for an id's markers."""
        for waiter in self._waiting.pop(transactional_id, ()):
            waiter.refuse(code)

    def go_on(self, transactional_id: str) -> None:
        """Serve the requests that have waited for an id's markers."""
        self.timers.cancel(TimerKey("wait", transactional_id))
        for waiter in self._waiting.pop(transactional_id, ()):
            waiter.again()

    def waiting_ids(self) -> Collection[str]:
        """Return the ids that requests wait for."""
        return tuple(self._waiting)


def lost(error: ErrorCode) -> ErrorCode:
    """Return the code for a client whose change was not stored: it looks for the coordinator again."""
    if error == ErrorCode.NOT_COORDINATOR:
        return error
    return ErrorCode.COORDINATOR_NOT_AVAILABLE


def _nothing(_error: ErrorCode | None, _now_ms: int) -> None:
    """Nothing waits for what the server does on its own: if it is lost, it is done again."""


def _weight(transaction: Transaction) -> int:
    name_bytes = 4 * len(transaction.transactional_id)
    return ID_BYTES + name_bytes + PARTITION_BYTES * len(transaction.partitions)
