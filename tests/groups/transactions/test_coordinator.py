"""The whole machine: a model of what a producer may believe, over losses and restarts."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from groups.transactions.coordinator import PARTITIONS_PER_RECORD
from groups.transactions.ending import Ended
from groups.transactions.initializing import Identity
from groups.transactions.states import PREPARED, TransactionState
from groups.transactions.transaction import TV1, TV2
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import NONE, Driver, in_state


def test_unloading_answers_all_that_waits_and_loading_brings_everything_back() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.PREPARE_COMMIT, TV1)
    waiting = driver.add(identity, 1)
    driver.hold = True
    writing = driver.init("other")
    driver.machine.unload(range(3), driver.now_ms)
    gone = ErrorCode.NOT_COORDINATOR
    assert (waiting, writing) == ([gone], [Identity(gone)])
    driver.hold = driver.hold_markers = False
    driver.restart()
    assert driver.state() == TransactionState.COMPLETE_COMMIT


def test_a_snapshot_replays_to_the_same_state() -> None:
    driver = Driver()
    for number in range(20):
        identity = driver.init(str(number))
        if number % 3:
            driver.add(identity, number, name=str(number))
    before = dict(driver.machine._table.ids)
    driver.log = [
        [record for part in driver.machine.snapshot(index, 4) for record in part] for index in range(3)
    ]
    driver.restart()
    assert driver.machine._table.ids == before


def test_a_record_in_a_partition_that_is_not_its_ids_changes_nothing() -> None:
    driver = Driver()
    in_state(driver, TransactionState.ONGOING)
    before, home = driver.known(), driver.machine.partition_of("t")
    (key, _), *_ = driver.log[home]
    driver.log[(home + 1) % 3] += [(key, None), *driver.log[home][:1]]
    driver.restart()
    assert driver.known() == before


def test_an_error_in_a_timer_names_the_partition_to_replay(monkeypatch: Any) -> None:
    driver = Driver()
    in_state(driver, TransactionState.ONGOING)
    monkeypatch.setattr(driver.machine._table, "put", lambda *_: 1 // 0)
    driver.machine.tick(60_000)
    (failed,) = driver.machine.take_internal_errors()
    assert (failed.group_id, failed.partition) == ("t", driver.machine.partition_of("t"))
    assert driver.machine.take_internal_errors() == []


class Producers(RuleBasedStateMachine):
    """Two instances of one producer, a log that loses what is not stored, and crashes.

    Whatever happens, an acknowledged decision is carried out, by markers of one kind, exactly that one.
    """

    def __init__(self) -> None:
        super().__init__()
        self.driver = Driver(partitions=2)
        self.driver.hold = self.driver.hold_markers = True
        self.version = TV2
        self.identity = Identity(NONE, -1, -1)
        self.promised: dict[tuple[int, int], bool] = {}
        self.answers: list[tuple[Any, bool, int]] = []

    @rule(names_itself=st.booleans())
    def init(self, names_itself: bool) -> None:
        known = self.identity if names_itself else Identity(NONE, -1, -1)
        answer = self.driver.init(producer_id=known.producer_id, epoch=known.epoch)
        self.driver.hold = False
        self.driver.pump()
        self.driver.hold = True
        found = answer[0] if isinstance(answer, list) else answer
        if found.code == NONE:
            self.identity = found

    @rule(index=st.integers(0, 3))
    def add(self, index: int) -> None:
        self.driver.add(self.identity, index, version=self.version)

    @rule(commit=st.booleans(), epoch_before=st.booleans(), version=st.sampled_from((TV1, TV2)))
    def end(self, commit: bool, epoch_before: bool, version: int) -> None:
        asks = self.identity._replace(epoch=self.identity.epoch - epoch_before)
        answer = self.driver.end(asks, commit=commit, version=version)
        self.answers.append((answer, commit, asks.epoch + (version == TV2)))

    @rule()
    def store(self) -> None:
        self.driver.store()
        self._note_answers()
        self.driver.pump()

    @rule(count=st.integers(0, 2))
    def store_some(self, count: int) -> None:
        self.driver.store(min(count, len(self.driver.in_flight)))
        self._note_answers()

    @rule()
    def lose(self) -> None:
        self._note_answers()
        self.driver.lose()
        self.answers.clear()

    @rule()
    def mark(self) -> None:
        self.driver.pump()
        self.driver.mark()
        self.driver.pump()

    @rule()
    def crash(self) -> None:
        self._note_answers()
        self.answers.clear()
        self.driver.restart()

    @rule(duration_ms=st.sampled_from((100, 1_000, 60_000)))
    def wait(self, duration_ms: int) -> None:
        self.driver.advance(duration_ms)

    def _note_answers(self) -> None:
        waiting = []
        for answer, commit, epoch in self.answers:
            found = answer[0] if isinstance(answer, list) and answer else answer
            if not isinstance(found, Ended):
                waiting.append((answer, commit, epoch))
            elif found.code == NONE and found.epoch >= 0:
                self.promised[found.producer_id, found.epoch] = commit
                self.identity = Identity(NONE, found.producer_id, found.epoch)
        self.answers = waiting

    @invariant()
    def markers_are_those_that_were_promised(self) -> None:
        for order in self.driver.written:
            promised = self.promised.get((order.producer_id, order.epoch))
            if order.client_version == TV2 and promised is not None:
                assert order.commit == promised

    @invariant()
    def an_epoch_has_one_outcome(self) -> None:
        outcomes: dict[tuple[int, int], set[bool]] = {}
        for order in self.driver.written:
            if order.client_version == TV2:
                outcomes.setdefault((order.producer_id, order.epoch), set()).add(order.commit)
        assert all(len(found) == 1 for found in outcomes.values())

    @precondition(lambda self: not self.driver.in_flight)
    @invariant()
    def what_is_in_memory_is_what_a_replay_gives(self) -> None:
        again = self.driver.start()
        for name, known in self.driver.machine._table.ids.items():
            assert again._table.ids[name] == known._replace(last_epoch=again._table.ids[name].last_epoch)

    def teardown(self) -> None:
        self.driver.hold = self.driver.hold_markers = False
        self.driver.pump()
        self.driver.advance(2_000)
        found = self.driver.machine.described("t")
        if not isinstance(found, ErrorCode):
            assert found.state not in PREPARED, "a decision was not carried out"


TestProducers = Producers.TestCase
TestProducers.settings = settings(max_examples=120, stateful_step_count=30, deadline=None)


def test_a_snapshot_of_wide_transactions_takes_fewer_of_them_in_a_step() -> None:
    driver = Driver(partitions=1)
    for number in range(6):
        identity = driver.init(name=f"t{number}")
        driver.add(identity, *range(2 * PARTITIONS_PER_RECORD), name=f"t{number}")
    assert [len(part) for part in driver.machine.snapshot(0, 6)] == [2, 2, 2, 0]
