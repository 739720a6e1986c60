"""The driver of a transaction coordinator in these tests: a log, a clock, producer ids, and short requests.

Everything is durable at once, markers too, unless `hold` or `hold_markers` is set.
"""

from __future__ import annotations

from collections import deque
from typing import Any

from groups.effects import Effects, EncodedRecord
from groups.transactions.config import TransactionConfig
from groups.transactions.coordinator import TransactionCoordinator
from groups.transactions.ending import End, Ended
from groups.transactions.enlisting import Member
from groups.transactions.initializing import Identity, Init
from groups.transactions.states import TransactionState
from groups.transactions.table import MarkerOrder
from groups.transactions.transaction import TV1, TV2, Transaction
from protocol.error_codes import ErrorCode

WALL_MS = 1_700_000_000_000
MINUTE_MS = 60_000

NONE = ErrorCode.NONE
BUSY = ErrorCode.CONCURRENT_TRANSACTIONS
FENCED = ErrorCode.PRODUCER_FENCED
BAD_STATE = ErrorCode.INVALID_TXN_STATE
BAD_MAPPING = ErrorCode.INVALID_PRODUCER_ID_MAPPING


class Driver:
    """A coordinator and the world around it."""

    def __init__(self, *, partitions: int = 3, **config: Any) -> None:
        self.wall_shift_ms = 0
        self.config = TransactionConfig(transaction_state_log_num_partitions=partitions, **config)
        self.now_ms = 0
        self.next_id = 100
        self.log: list[list[EncodedRecord]] = [[] for _ in range(partitions)]
        self.hold = self.hold_markers = False
        self.in_flight: deque[Effects] = deque()
        self.orders: list[MarkerOrder] = []
        self.written: list[MarkerOrder] = []
        self.machine = self.start()

    def start(self) -> TransactionCoordinator:
        """Start a coordinator and replay the log into it."""
        machine = TransactionCoordinator(
            config=self.config,
            take_id=self._take_id,
            wall_ms=lambda now_ms: WALL_MS + now_ms + self.wall_shift_ms,
        )
        for partition, records in enumerate(self.log):
            for key, value in records:
                for _ in machine.replay(partition, key, value):
                    continue
        machine.loaded(range(len(self.log)), self.now_ms)
        return machine

    def _take_id(self, done: Any) -> None:
        self.next_id += 1
        done(self.next_id - 1)

    def restart(self) -> None:
        """Lose all that is not in the log, and start again."""
        self.in_flight.clear()
        self.orders.clear()
        self.machine = self.start()
        self.pump()

    def pump(self) -> None:
        """Store what the machine wants stored, and write its markers."""
        while True:
            effects = self.machine.take_effects()
            self.in_flight.extend(effects)
            orders = self.machine.take_orders()
            self.orders += orders
            if not effects and not orders and (self.hold or not self.in_flight) and not self._can_mark():
                return
            if not self.hold:
                self.store()
            if self._can_mark():
                self.mark()

    def _can_mark(self) -> bool:
        return not self.hold_markers and any(self._is_prepared(order) for order in self.orders)

    @staticmethod
    def _is_prepared(order: MarkerOrder) -> bool:
        return order.prepared is None or order.prepared.settled

    def store(self, count: int | None = None) -> None:
        """Make what is in flight durable, or the first so many."""
        for _ in range(len(self.in_flight) if count is None else count):
            effects = self.in_flight.popleft()
            self.log[effects.partition] += effects.records
            self.machine.durable(effects, self.now_ms)

    def lose(self) -> None:
        """Fail all that is in flight."""
        while self.in_flight:
            effects = self.in_flight.popleft()
            if not effects.settled:
                self.machine.failed(effects, ErrorCode.COORDINATOR_NOT_AVAILABLE, self.now_ms)
        self.pump()

    def mark(self) -> None:
        """Write the markers whose decision is durable."""
        ready = [order for order in self.orders if self._is_prepared(order)]
        self.orders = [order for order in self.orders if not self._is_prepared(order)]
        for order in ready:
            if not self.machine.is_wanted(order):
                continue
            self.written.append(order)
            self.machine.marked(order, self.now_ms)

    def advance(self, duration_ms: int) -> None:
        """Let time pass, deadline by deadline."""
        end_ms = self.now_ms + duration_ms
        while (due_ms := self.machine.next_deadline()) is not None and due_ms <= end_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.machine.tick(self.now_ms)
            self.pump()
        self.now_ms = end_ms

    # --- requests -------------------------------------------------------------------------------------------

    def init(
        self, name: str = "t", timeout_ms: int = MINUTE_MS, producer_id: int = -1, epoch: int = -1
    ) -> Any:
        """Ask for a producer id; return the answer, or the list in which it will be."""
        answers: list[Identity] = []
        self.machine.init_producer(Init(name, timeout_ms, producer_id, epoch), answers.append, self.now_ms)
        self.pump()
        return answers[0] if answers else answers

    def add(self, identity: Identity, *partitions: int, name: str = "t", version: int = TV1) -> Any:
        """Enlist partitions of topic `a`."""
        answers: list[ErrorCode] = []
        self.machine.enlist(
            Member(name, identity.producer_id, identity.epoch),
            frozenset(("a", index) for index in partitions or (0,)),
            answers.append,
            self.now_ms,
            client_version=version,
        )
        self.pump()
        return answers[0] if answers else answers

    def end(
        self, identity: Identity | Ended, *, commit: bool = True, name: str = "t", version: int = TV1
    ) -> Any:
        """End a transaction."""
        answers: list[Ended] = []
        end = End(name, identity.producer_id, identity.epoch, commit, version)
        self.machine.end(end, answers.append, self.now_ms)
        self.pump()
        return answers[0] if answers else answers

    def known(self, name: str = "t") -> Transaction:
        """Return an id's state."""
        found = self.machine.described(name)
        assert isinstance(found, Transaction)
        return found

    def state(self, name: str = "t") -> TransactionState:
        """Return an id's state."""
        return self.known(name).state


def in_state(driver: Driver, state: TransactionState, version: int = TV2) -> Identity:
    """Bring id `t` into a state; return the identity with which its producer got there."""
    identity: Identity = driver.init()
    if state == TransactionState.EMPTY:
        return identity
    assert driver.add(identity, version=version) == NONE
    if state == TransactionState.ONGOING:
        return identity
    driver.hold_markers = True
    driver.end(identity, commit=state.name.endswith("COMMIT"), version=version)
    if state.name.startswith("COMPLETE"):
        driver.hold_markers = False
        driver.pump()
    assert driver.state() == state
    return identity
