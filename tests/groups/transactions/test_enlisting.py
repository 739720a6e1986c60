"""Partitions join transactions."""

from __future__ import annotations

import pytest

from groups.transactions.enlisting import Member
from groups.transactions.initializing import Identity
from groups.transactions.states import TransactionState
from groups.transactions.transaction import TV2
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import BAD_MAPPING, BUSY, FENCED, NONE, Driver, in_state


def test_a_transaction_begins_with_its_first_partition_and_grows() -> None:
    driver = Driver()
    identity = driver.init()
    assert driver.add(identity, 0, 1) == NONE
    assert driver.add(identity, 1, 2) == NONE
    assert driver.known().partitions == {("a", 0), ("a", 1), ("a", 2)}
    assert driver.machine.counts()["begun"] == 1


def test_what_is_already_enlisted_is_not_written_again() -> None:
    driver = Driver()
    identity = driver.init()
    driver.add(identity, 0)
    size = sum(map(len, driver.log))
    assert driver.add(identity, 0) == NONE
    assert sum(map(len, driver.log)) == size


@pytest.mark.parametrize(
    ("name", "producer_id", "epoch", "code"),
    [
        ("", 100, 0, ErrorCode.INVALID_REQUEST),
        ("unknown", 100, 0, BAD_MAPPING),
        ("t", 101, 0, BAD_MAPPING),
        ("t", 100, 1, FENCED),
        ("t", 100, -1, FENCED),
    ],
)
def test_others_than_the_producer_are_refused(
    name: str, producer_id: int, epoch: int, code: ErrorCode
) -> None:
    driver = Driver()
    driver.init()
    assert driver.add(Identity(NONE, producer_id, epoch), name=name) == code
    assert driver.machine.is_enlisted(Member(name, producer_id, epoch), ("a", 0)) == code


def test_a_partition_is_part_of_the_transaction_until_that_is_decided() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.ONGOING, 0)
    member = Member("t", identity.producer_id, identity.epoch)
    assert driver.machine.is_enlisted(member, ("a", 0)) == NONE
    assert driver.machine.is_enlisted(member, ("a", 1)) == ErrorCode.TRANSACTION_ABORTABLE
    driver.hold_markers = True
    driver.end(identity)
    assert driver.machine.is_enlisted(member, ("a", 0)) == BUSY
    driver.hold_markers = False
    driver.pump()
    assert driver.machine.is_enlisted(member, ("a", 0)) == ErrorCode.TRANSACTION_ABORTABLE


def test_the_next_transaction_waits_for_the_markers_of_the_one_before() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.PREPARE_COMMIT, 0)
    answer = driver.add(identity, 5)
    assert answer == []
    driver.hold_markers = False
    driver.pump()
    assert answer == [NONE]
    assert driver.known().partitions == {("a", 5)}


def test_a_wait_that_takes_too_long_ends_with_concurrent_transactions() -> None:
    driver = Driver()
    identity = in_state(driver, TransactionState.PREPARE_COMMIT, 0)
    answer = driver.add(identity, 5)
    driver.advance(499)
    assert answer == []
    driver.advance(1)
    assert answer == [BUSY]


def test_enlisting_that_is_lost_is_undone() -> None:
    driver = Driver()
    identity = driver.init()
    driver.hold = True
    answer = driver.add(identity, version=TV2)
    driver.lose()
    assert answer == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert driver.state() == TransactionState.EMPTY


def test_a_transaction_that_would_have_too_many_partitions_stays_as_it_is() -> None:
    driver = Driver(kawal_transaction_max_partitions=3)
    identity = driver.init()
    assert driver.add(identity, *range(4)) == ErrorCode.POLICY_VIOLATION
    assert driver.known().state == TransactionState.EMPTY
    assert driver.add(identity, 0, 1) == NONE
    assert driver.add(identity, 1, 2, 3) == ErrorCode.POLICY_VIOLATION
    assert driver.add(identity, 0, 1, 2) == NONE, "two of them it has"
    assert driver.add(identity, 3) == ErrorCode.POLICY_VIOLATION
    assert driver.known().partitions == {("a", 0), ("a", 1), ("a", 2)}
    driver.end(identity)
    assert driver.add(identity, 3) == NONE, "the next transaction begins without any"
