"""Decisions, their markers and what happens when some of it is lost."""

from __future__ import annotations

import pytest

from groups.transactions.ending import Ended
from groups.transactions.initializing import Identity
from groups.transactions.states import TransactionState
from groups.transactions.transaction import EPOCH_MAX, TV1, TV2
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import BAD_MAPPING, BAD_STATE, FENCED, NONE, Driver, in_state
from tests.groups.transactions.test_initializing import exhaust


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_is_answered_when_the_decision_is_durable_and_complete_after_its_markers(commit: bool) -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING, TV1)
    driver.hold = True
    answer = driver.end(identity, commit=commit)
    assert (answer, driver.written) == ([], [])
    driver.hold_markers = True
    driver.store()
    assert answer == [Ended(NONE)]
    driver.hold = driver.hold_markers = False
    driver.pump()
    (order,) = driver.written
    assert (order.producer_id, order.epoch, order.commit) == (100, 0, commit)
    assert (order.partitions, order.client_version) == ((("a", 0),), TV1)
    assert driver.state().shown == ("CompleteCommit" if commit else "CompleteAbort")


def test_no_marker_is_ordered_for_a_decision_that_was_lost() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING, TV1)
    driver.hold = True
    answer = driver.end(identity)
    driver.lose()
    driver.hold = False
    driver.pump()
    assert answer == [Ended(ErrorCode.COORDINATOR_NOT_AVAILABLE)]
    assert (driver.written, driver.state()) == ([], TransactionState.ONGOING)


def test_a_marker_for_a_decision_that_was_lost_completes_nothing() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING, TV1)
    driver.hold = True
    driver.end(identity)
    (order,) = driver.orders
    driver.orders.clear()
    driver.lose()
    driver.machine.marked(order, driver.now_ms)
    assert driver.state() == TransactionState.ONGOING


def test_markers_that_were_lost_are_ordered_again_and_so_are_those_whose_completion_was() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING)
    driver.hold_markers = True
    driver.end(identity, version=TV2)
    (order,) = driver.orders
    driver.orders.clear()
    driver.machine.not_marked(order, driver.now_ms)
    driver.hold_markers, driver.hold = False, True
    driver.advance(1_000)
    assert driver.state() == TransactionState.COMPLETE_COMMIT
    driver.lose()
    assert driver.state() == TransactionState.PREPARE_COMMIT
    driver.hold = False
    driver.advance(1_000)
    assert [order.epoch for order in driver.written] == [1, 1]
    assert driver.state() == TransactionState.COMPLETE_COMMIT


def test_a_decision_outlives_a_crash_and_its_markers_are_written_then() -> None:
    driver = Driver()
    in_state(driver, TransactionState.PREPARE_ABORT)
    driver.hold_markers = False
    driver.restart()
    assert [(order.epoch, order.commit) for order in driver.written] == [(1, False)]
    assert driver.state() == TransactionState.COMPLETE_ABORT


@pytest.mark.parametrize("version", [TV1, TV2])
@pytest.mark.parametrize(
    ("name", "producer_id", "epoch", "code"),
    [
        ("", 100, 0, ErrorCode.INVALID_REQUEST),
        ("unknown", 100, 0, BAD_MAPPING),
        ("t", 101, 0, BAD_MAPPING),
        ("t", 100, 1, FENCED),
        ("t", 100, -5, FENCED),
    ],
)
def test_others_than_the_producer_are_refused(
    name: str, producer_id: int, epoch: int, code: ErrorCode, version: int
) -> None:
    driver = Driver()
    in_state(driver, TransactionState.ONGOING, version)
    asks = Identity(NONE, producer_id, epoch)
    assert driver.end(asks, name=name, version=version) == Ended(code)
    assert driver.state() == TransactionState.ONGOING


def test_each_transaction_of_the_second_protocol_has_an_epoch_of_its_own() -> None:
    driver = Driver()
    identity = driver.init()
    for epoch in range(1, 4):
        driver.add(identity, version=TV2)
        identity = driver.end(identity, version=TV2)
        assert identity == Ended(NONE, 100, epoch)
    assert [order.epoch for order in driver.written] == [1, 2, 3]


def test_a_delayed_end_does_not_touch_the_next_transaction() -> None:
    driver = Driver()
    first = driver.init()
    driver.add(first, version=TV2)
    second = driver.end(first, commit=False, version=TV2)
    driver.add(second, version=TV2)
    for commit in (True, False):
        assert driver.end(first, commit=commit, version=TV2) == Ended(FENCED)
    assert driver.state() == TransactionState.ONGOING


def test_an_abort_without_a_transaction_raises_the_epoch_and_writes_no_markers() -> None:
    driver = Driver()
    identity = driver.init()
    assert driver.end(identity, commit=False, version=TV2) == Ended(NONE, 100, 1)
    assert [order.partitions for order in driver.written] == [()]
    assert driver.end(identity, commit=False, version=TV2) == Ended(NONE, 100, 1)
    assert driver.end(identity, commit=True, version=TV2) == Ended(BAD_STATE)


def test_exhausted_epochs_bring_another_producer_id_with_the_end() -> None:
    driver = Driver()
    driver.init()
    exhaust(driver, EPOCH_MAX - 1)
    last = Identity(NONE, 100, EPOCH_MAX - 1)
    driver.add(last, version=TV2)
    assert driver.end(last, version=TV2) == Ended(NONE, 101, 0)
    assert [(order.producer_id, order.epoch) for order in driver.written] == [(100, EPOCH_MAX)]
    assert driver.end(last, version=TV2) == Ended(NONE, 101, 0), "the answer was lost"
    assert driver.add(last, version=TV2) == BAD_MAPPING
    assert driver.add(Identity(NONE, 101, 0), version=TV2) == NONE
