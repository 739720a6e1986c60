"""InitProducerId: new instances, lost answers, exhausted epochs."""

from __future__ import annotations

import pytest

from groups.transactions.initializing import Identity
from groups.transactions.states import TransactionState
from groups.transactions.transaction import EPOCH_MAX, TV2
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import BUSY, FENCED, NONE, Driver, in_state


def test_a_new_id_gets_a_producer_id_and_each_new_instance_the_next_epoch() -> None:
    driver = Driver()
    assert [driver.init() for _ in range(3)] == [Identity(NONE, 100, epoch) for epoch in range(3)]
    assert driver.init("other") == Identity(NONE, 101, 0)


@pytest.mark.parametrize(
    ("name", "timeout_ms", "code"),
    [
        ("", 1_000, ErrorCode.INVALID_REQUEST),
        ("t", 900_001, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("t", 0, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("t", -1, ErrorCode.INVALID_TRANSACTION_TIMEOUT),
        ("t", 900_000, NONE),
    ],
)
def test_bad_fields_are_refused(name: str, timeout_ms: int, code: ErrorCode) -> None:
    assert Driver().init(name, timeout_ms).code == code


def test_a_producer_that_names_itself_gets_the_next_epoch_and_after_a_lost_answer_the_same_again() -> None:
    driver = Driver()
    driver.init()
    assert driver.init(producer_id=100, epoch=0) == Identity(NONE, 100, 1)
    assert driver.init(producer_id=100, epoch=0) == Identity(NONE, 100, 1)
    assert driver.init(producer_id=100, epoch=1) == Identity(NONE, 100, 2)
    assert driver.init(producer_id=100, epoch=0) == Identity(FENCED)


def test_an_instance_that_another_has_replaced_is_fenced() -> None:
    driver = Driver()
    driver.init()
    driver.init()
    assert driver.init(producer_id=100, epoch=0) == Identity(FENCED)
    assert driver.init(producer_id=5, epoch=1) == Identity(FENCED)


def test_an_open_transaction_is_aborted_and_the_client_asks_again() -> None:
    driver = Driver()
    in_state(driver, TransactionState.ONGOING)
    driver.hold_markers = True
    assert driver.init() == Identity(BUSY)
    assert driver.state() == TransactionState.PREPARE_ABORT
    assert driver.init() == Identity(BUSY)
    driver.hold_markers = False
    driver.pump()
    assert [(order.epoch, order.commit) for order in driver.written] == [(1, False)]
    assert driver.init() == Identity(NONE, 100, 2)


def exhaust(driver: Driver, epoch: int) -> None:
    """Let the id be in this epoch."""
    known = driver.known()._replace(epoch=epoch)
    driver.machine._table.put(known, lambda *_: None)
    driver.pump()


def test_after_the_last_epoch_there_is_another_producer_id() -> None:
    driver = Driver()
    driver.init()
    exhaust(driver, EPOCH_MAX - 2)
    assert driver.init() == Identity(NONE, 100, EPOCH_MAX - 1)
    assert driver.init() == Identity(NONE, 101, 0)


def test_a_lost_answer_is_repeated_after_the_producer_id_has_changed() -> None:
    driver = Driver()
    driver.init()
    exhaust(driver, EPOCH_MAX - 1)
    assert driver.init(producer_id=100, epoch=EPOCH_MAX - 1) == Identity(NONE, 101, 0)
    assert driver.init(producer_id=100, epoch=EPOCH_MAX - 1) == Identity(NONE, 101, 0)
    assert driver.init(producer_id=100, epoch=EPOCH_MAX - 2) == Identity(FENCED)


def test_the_greatest_epoch_fences_and_is_given_to_no_producer() -> None:
    driver = Driver()
    driver.init()
    exhaust(driver, EPOCH_MAX - 1)
    last = Identity(NONE, 100, EPOCH_MAX - 1)
    driver.add(last, version=TV2)
    assert driver.init() == Identity(BUSY)
    greatest = Identity(NONE, 100, EPOCH_MAX)
    assert driver.known().epoch == EPOCH_MAX
    assert driver.add(greatest, version=TV2) == FENCED
    assert driver.end(greatest, commit=False, version=TV2).code == FENCED
    assert driver.init(producer_id=100, epoch=EPOCH_MAX - 1) == Identity(NONE, 101, 0)


def test_nothing_is_answered_before_it_is_durable() -> None:
    driver = Driver()
    driver.hold = True
    answers = driver.init()
    later = driver.init()
    assert (answers, later) == ([], [])
    driver.store()
    assert (answers, later) == ([Identity(NONE, 100, 0)], [Identity(NONE, 100, 1)])


def test_a_refusal_that_builds_on_what_is_lost_is_not_given() -> None:
    driver = Driver()
    driver.init()
    driver.hold = True
    newer, older = driver.init(), driver.init(producer_id=100, epoch=0)
    driver.lose()
    driver.hold = False
    gone = Identity(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    assert (newer, older) == ([gone], [gone])
    assert driver.init(producer_id=100, epoch=0) == Identity(NONE, 100, 1)


def test_an_id_whose_partition_is_not_loaded_is_refused() -> None:
    driver = Driver()
    driver.machine.unload(range(3), 0)
    assert driver.init() == Identity(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def test_when_memory_is_short_the_id_unused_for_longest_is_forgotten() -> None:
    driver = Driver(kawal_transactions_max_bytes=3_000)
    for name in "abc":
        driver.init(name)
    driver.add(driver.init("b"), name="b")
    for name in "defgh":
        assert driver.init(name).code == NONE
    assert driver.machine.described("a") == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert driver.state("b") == TransactionState.ONGOING
    assert driver.machine.counts()["memory_bytes"] <= 3_000 + 1_000


def test_when_all_ids_are_in_transactions_a_new_one_is_refused() -> None:
    driver = Driver(kawal_transactions_max_bytes=1_000)
    driver.add(driver.init("a"), name="a")
    assert driver.init("b") == Identity(ErrorCode.COORDINATOR_NOT_AVAILABLE)
