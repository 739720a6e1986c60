"""Every row of the tables is what the machine does."""

from __future__ import annotations

import pytest

from groups.transactions.ending import Ended
from groups.transactions.initializing import Identity
from groups.transactions.states import (
    ANSWERS,
    BY_NAME,
    PREPARED,
    TRANSITIONS,
    UNDECIDED,
    Action,
    Event,
    Request,
    TransactionState,
)
from groups.transactions.transaction import TV1, TV2
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import BUSY, NONE, Driver, in_state

STORED = tuple(ANSWERS)
ENDS = [request for request in Request if request not in (Request.INIT, Request.ENLIST)]


def test_every_stored_state_answers_every_request() -> None:
    assert set(STORED) == {state for state in TransactionState if state < TransactionState.DEAD}
    assert all(set(answers) == set(Request) for answers in ANSWERS.values())


def test_every_state_but_the_first_can_be_reached_and_left() -> None:
    assert set(TRANSITIONS.values()) == set(STORED)
    assert {before for before, _ in TRANSITIONS} == set(STORED)


def test_only_markers_lead_out_of_a_decision() -> None:
    leaving = {event for state, event in TRANSITIONS if state in PREPARED}
    assert leaving == {Event.MARKED}
    assert PREPARED < UNDECIDED


def test_names_are_those_of_kafka() -> None:
    assert list(BY_NAME) == [
        "Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead",
        "PrepareEpochFence",
    ]  # fmt: skip


@pytest.mark.parametrize("state", STORED, ids=lambda state: state.shown)
@pytest.mark.parametrize("request_", ENDS, ids=lambda request: request.value)
def test_ends_are_answered_as_the_table_says(state: TransactionState, request_: Request) -> None:
    version = TV1 if request_ in (Request.COMMIT, Request.ABORT) else TV2
    driver = Driver()
    in_state(driver, state, version)
    known = driver.known()
    again = request_ in (Request.COMMIT_2_AGAIN, Request.ABORT_2_AGAIN)
    commit = request_ in (Request.COMMIT, Request.COMMIT_2, Request.COMMIT_2_AGAIN)
    asks = Identity(NONE, known.producer_id, known.epoch - again)
    answer = driver.end(asks, commit=commit, version=version)
    expected = ANSWERS[state][request_]
    if isinstance(expected, ErrorCode):
        assert answer == Ended(expected)
        assert driver.known() == known
        return
    assert answer.code == NONE
    if version == TV2:
        assert (answer.producer_id, answer.epoch) == (driver.known().producer_id, asks.epoch + 1)
    if expected == Action.TELL:
        assert driver.known() == known


@pytest.mark.parametrize("state", STORED, ids=lambda state: state.shown)
def test_enlisting_is_answered_as_the_table_says(state: TransactionState) -> None:
    driver = Driver()
    in_state(driver, state)
    known = driver.known()
    answer = driver.add(Identity(NONE, known.producer_id, known.epoch), 1, version=TV2)
    if ANSWERS[state][Request.ENLIST] == Action.WAIT:
        assert answer == []
        driver.hold_markers = False
        driver.pump()
        assert answer == [NONE]
    else:
        assert answer == NONE
    assert ("a", 1) in driver.known().partitions


@pytest.mark.parametrize("state", STORED, ids=lambda state: state.shown)
def test_a_new_instance_is_answered_as_the_table_says(state: TransactionState) -> None:
    driver = Driver()
    in_state(driver, state)
    known = driver.known()
    answer = driver.init()
    match ANSWERS[state][Request.INIT]:
        case Action.ACCEPT:
            assert answer == Identity(NONE, known.producer_id, known.epoch + 1)
        case Action.FENCE:
            assert answer == Identity(BUSY)
            assert driver.state() == TransactionState.COMPLETE_ABORT
            assert driver.known().epoch == known.epoch + 1
        case code:
            assert answer == Identity(code)  # type: ignore[arg-type]
