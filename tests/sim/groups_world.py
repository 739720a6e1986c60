"""A simulated world around the group coordinator: clock, network, log, crashes. One seed decides everything.

Requests and answers may be delayed, overtaken and lost; a client then hears of a timeout, and its request
may arrive all the same. The log makes records durable some time after they are appended, unless the server
crashes or the append fails first.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from groups.config import GroupConfig
from groups.coordinator import Coordinator
from groups.effects import Effects, EncodedRecord
from groups.offload import WEIGHT_MAX, Work, WorkDone, run_here
from protocol.error_codes import ErrorCode
from tests.groups.driver import WALL_MS, Topics

OFFSETS_PARTITIONS = 2
TIMEOUT_MS = 3_000
"""The time clients wait for answers that do not wait for other clients."""


THREAD_MS = 300
"""The longest that a thread takes for an assignment."""


class Network:
    """The state of the network: how bad it is at the moment."""

    def __init__(self) -> None:
        self.loss = 0.0
        self.delay_ms_max = 20


class Call:
    """One request on its way; its client hears of it once, by an answer or by a failure."""

    __slots__ = ("answered", "heard", "on_failure", "on_reply")

    def __init__(self, on_reply: Callable[[Any], None], on_failure: Callable[[], None]) -> None:
        self.on_reply = on_reply
        self.on_failure = on_failure
        self.heard = False
        self.answered = False


class World:
    """Clock, network, and the server with its log."""

    def __init__(self, seed: int, config: GroupConfig) -> None:
        self.random = Random(seed)
        self.config = config
        # In some worlds threads make all assignments, however small.
        self._weight_max = WEIGHT_MAX if self.random.random() < 0.5 else 0
        self.topics = Topics()
        self.network = Network()
        self.now_ms = 0
        self.wall_offset_ms = WALL_MS
        self.sync_ms_max = 5
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._order = count()
        self.log: dict[int, list[EncodedRecord]] = {index: [] for index in range(OFFSETS_PARTITIONS)}
        self.in_flight: list[Effects] = []
        self.waiting: dict[Call, None] = {}
        self._lost_calls: dict[Call, None] = {}
        self.coordinator: Coordinator | None = None
        self.restarts = 0
        self._next_tick_ms: int | None = None
        self.observers: list[Callable[[], None]] = []
        # What goes wrong while the next records are on their way to the disk.
        self.trap: Callable[[], None] | None = None
        self.start_server()

    # --- time -----------------------------------------------------------------------------------------------

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        heappush(self._events, (self.now_ms + delay_ms, next(self._order), action))

    def run(self, until_ms: int) -> None:
        while self._events and self._events[0][0] <= until_ms:
            self.now_ms, _, action = heappop(self._events)
            action()
        self.now_ms = until_ms

    # --- the server -----------------------------------------------------------------------------------------

    def replayed_coordinator(self) -> Coordinator:
        """Return a coordinator that knows what the log holds, and has not begun to serve."""
        coordinator = Coordinator(
            config=self.config,
            topics=self.topics,
            random=Random(self.random.getrandbits(32)),
            wall_ms=lambda now_ms: now_ms + self.wall_offset_ms,
            offload=self._offload,
            weight_max=self._weight_max,
        )
        for partition, records in self.log.items():
            for key, value in records:
                coordinator.replay(partition, key, value)
        return coordinator

    def _offload(self, work: Work, done: WorkDone) -> None:
        """Do the work as a thread would, which takes a while; a crash ends it."""
        server = self.coordinator

        def ended(error: Exception | None) -> None:
            if self.coordinator is server:
                done(error)
                self.after_step()

        run_here(work, lambda error: self.later(self.random.randrange(THREAD_MS), lambda: ended(error)))

    def start_server(self) -> None:
        self.coordinator = self.replayed_coordinator()
        self.coordinator.loaded(range(OFFSETS_PARTITIONS), self.now_ms)
        self.after_step()

    def crash(self, down_ms: int) -> None:
        """Lose what is not durable; clients see their connections end."""
        if self.coordinator is None:
            return
        self.restarts += 1
        self.coordinator = None
        self.in_flight = []
        waiting, self.waiting = self.waiting, {}
        for call in waiting:
            self._deliver(call, None)
        self.later(down_ms, self.start_server)

    def lose_appends(self) -> None:
        """Let the disk fail: everything that is not durable is lost, and the server goes on."""
        if self.coordinator is None:
            return
        lost, self.in_flight = self.in_flight, []
        for effects in lost:
            self.coordinator.failed(effects, ErrorCode.KAFKA_STORAGE_ERROR, self.now_ms)
        self.after_step()

    def after_step(self) -> None:
        """Do what a driver does after every call: append, and ask when to tick."""
        coordinator = self.coordinator
        if coordinator is None:
            return
        for failed in coordinator.take_internal_errors():
            raise failed.error
        for effects in coordinator.take_effects():
            if not effects.settled:
                self.in_flight.append(effects)
                if self.trap is not None:
                    self.later(self.random.randint(0, self.sync_ms_max), self.trap)
                    self.trap = None
                self._sync_later(effects)
        due_ms = coordinator.next_deadline()
        if due_ms is not None and (self._next_tick_ms is None or due_ms < self._next_tick_ms):
            self._next_tick_ms = max(due_ms, self.now_ms)
            self.later(self._next_tick_ms - self.now_ms, self._tick)
        for observe in self.observers:
            observe()

    def _sync_later(self, effects: Effects) -> None:
        self.later(self.random.randint(0, self.sync_ms_max), lambda: self._synced(effects))

    def _tick(self) -> None:
        self._next_tick_ms = None
        if self.coordinator is not None:
            self.coordinator.tick(self.now_ms)
        self.after_step()

    def _synced(self, effects: Effects) -> None:
        if self.coordinator is None or effects not in self.in_flight:
            return
        # A log makes everything before it durable, too.
        while True:
            first = self.in_flight.pop(0)
            self.log[first.partition].extend(first.records)
            self.coordinator.durable(first, self.now_ms)
            if first is effects:
                break
        self.after_step()

    # --- the network ----------------------------------------------------------------------------------------

    def call(
        self,
        serve: Callable[[Coordinator, Callable[[Any], None]], None],
        on_reply: Callable[[Any], None],
        on_failure: Callable[[], None],
        timeout_ms: int = TIMEOUT_MS,
    ) -> None:
        """Send a request; `serve(coordinator, reply)` gives it to the server when it arrives."""
        call = Call(on_reply, on_failure)
        self.later(timeout_ms, lambda: self._hear(call, None))
        if self._lost():
            self._lost_calls[call] = None
        else:
            self.later(self._delay_ms(), lambda: self._arrive(call, serve))

    def _arrive(self, call: Call, serve: Callable[[Coordinator, Callable[[Any], None]], None]) -> None:
        coordinator = self.coordinator
        if coordinator is None:
            self._deliver(call, None)
            return
        self.waiting[call] = None
        incarnation = self.restarts

        def reply(response: Any) -> None:
            assert not call.answered, "answered twice"
            call.answered = True
            if incarnation == self.restarts:
                self.waiting.pop(call, None)
                if self._lost():
                    self._lost_calls[call] = None
                else:
                    self._deliver(call, response)

        serve(coordinator, reply)
        self.after_step()

    def heal(self) -> None:
        """Make the network good from now on; connections that lost something break and are made again."""
        self.network = Network()
        self.sync_ms_max = 5
        lost, self._lost_calls = self._lost_calls, {}
        for call in lost:
            self._deliver(call, None)

    def _deliver(self, call: Call, response: Any) -> None:
        self.later(self._delay_ms(), lambda: self._hear(call, response))

    def _hear(self, call: Call, response: Any) -> None:
        if call.heard:
            return
        call.heard = True
        self._lost_calls.pop(call, None)
        if response is None:
            call.on_failure()
        else:
            call.on_reply(response)

    def _lost(self) -> bool:
        return self.random.random() < self.network.loss

    def _delay_ms(self) -> int:
        # Mostly quick; sometimes so slow that a later request overtakes.
        if self.random.random() < 0.95:
            return self.random.randint(0, 5)
        return self.random.randint(0, self.network.delay_ms_max)
