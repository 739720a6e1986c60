"""Transactions that take too long, and ids that are not used."""

from __future__ import annotations

from groups.transactions.states import TransactionState
from groups.transactions.timeouts import EXPIRED_PER_STEP
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import FENCED, NONE, Driver, in_state

DAY_MS = 86_400_000
HOUR_MS = 3_600_000


def test_a_transaction_is_aborted_at_its_timeout_and_its_producer_is_fenced() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING, 0)
    driver.advance(59_999)
    assert driver.state() == TransactionState.ONGOING
    driver.advance(1)
    assert driver.state() == TransactionState.COMPLETE_ABORT
    assert driver.end(identity).code == FENCED
    assert driver.add(identity) == FENCED
    assert driver.machine.counts()["timed_out"] == 1


def test_the_timer_of_an_ended_transaction_does_not_abort_the_next() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING, 0)
    driver.advance(40_000)
    driver.end(identity)
    driver.add(identity)
    driver.advance(59_999)
    assert driver.state() == TransactionState.ONGOING
    driver.advance(1)
    assert driver.state() == TransactionState.COMPLETE_ABORT


def test_a_shorter_timeout_is_kept_although_a_longer_one_is_still_set() -> None:
    driver = Driver()
    identity = driver.init(timeout_ms=600_000)
    driver.add(identity)
    driver.end(identity)
    driver.add(driver.init(timeout_ms=1_000))
    driver.advance(1_000)
    assert driver.state() == TransactionState.COMPLETE_ABORT


def test_an_open_transaction_times_out_after_a_restart_too() -> None:
    driver = Driver()
    in_state(driver, TransactionState.ONGOING)
    driver.advance(20_000)
    driver.restart()
    driver.advance(39_999)
    assert driver.state() == TransactionState.ONGOING
    driver.advance(1)
    assert driver.state() == TransactionState.COMPLETE_ABORT


def test_a_transaction_times_out_although_the_wall_clock_was_set_back() -> None:
    """Found by a simulation: readers of committed data would have waited until the clock had caught up."""
    driver = Driver()
    in_state(driver, TransactionState.ONGOING, 0)
    driver.advance(20_000)
    driver.wall_shift_ms = -HOUR_MS
    driver.advance(39_999)
    assert driver.state() == TransactionState.ONGOING
    driver.advance(1)
    assert driver.state() == TransactionState.COMPLETE_ABORT


def test_an_abort_that_was_lost_is_tried_again() -> None:
    driver = Driver()
    in_state(driver, TransactionState.ONGOING)
    driver.hold = True
    driver.advance(60_000)
    driver.lose()
    assert driver.state() == TransactionState.ONGOING
    driver.hold = False
    driver.advance(1_000)
    assert driver.state() == TransactionState.COMPLETE_ABORT


def test_an_unused_id_is_forgotten_after_a_week_and_one_in_use_is_not() -> None:
    driver = Driver()
    driver.init("unused")
    driver.advance(6 * DAY_MS)
    driver.init("used")
    driver.advance(DAY_MS + HOUR_MS)
    assert driver.machine.described("unused") == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert driver.state("used") == TransactionState.EMPTY
    driver.restart()
    assert driver.machine.described("unused") == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_very_many_ids_are_forgotten_in_steps_and_decisions_that_hang_are_passed_over() -> None:
    driver = Driver(transaction_max_timeout_ms=2**31 - 1)
    in_state(driver, TransactionState.PREPARE_COMMIT)
    count = 3 * EXPIRED_PER_STEP + 5
    for number in range(count):
        assert driver.init(str(number)).code == NONE
    driver.orders.clear()
    driver.advance(7 * DAY_MS + HOUR_MS)
    assert driver.machine.counts()["ids"] == 1
    assert driver.state() == TransactionState.PREPARE_COMMIT
