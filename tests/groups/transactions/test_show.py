"""Transactions as administrators see them."""

from __future__ import annotations

from groups.transactions.show import LISTED_PER_STEP, Filter, states_of
from groups.transactions.states import TransactionState
from groups.transactions.transaction import Transaction
from protocol.error_codes import ErrorCode
from tests.groups.transactions.driver import Driver

ALL = Filter(None, frozenset(), -1, None)


def names(driver: Driver, wanted: Filter) -> list[str]:
    found = driver.machine.listed(wanted, driver.now_ms)
    return sorted(known.transactional_id for known in found if known is not None)


def busy() -> Driver:
    driver = Driver()
    driver.init("empty")
    driver.add(driver.init("old"), name="old")
    driver.advance(10_000)
    driver.add(driver.init("new"), name="new")
    return driver


def test_filters_choose_by_state_producer_age_and_name() -> None:
    driver = busy()
    assert names(driver, ALL) == ["empty", "new", "old"]
    assert names(driver, ALL._replace(states=frozenset({TransactionState.ONGOING}))) == ["new", "old"]
    assert names(driver, ALL._replace(states=frozenset())) == []
    assert names(driver, ALL._replace(producer_ids=frozenset({101}))) == ["old"]
    assert names(
        driver, ALL._replace(longer_than_ms=5_000, states=frozenset({TransactionState.ONGOING}))
    ) == ["old"]
    assert names(driver, ALL._replace(matches=lambda name: name.startswith("n"))) == ["new"]


def test_names_of_states_that_do_not_exist_are_told() -> None:
    assert states_of([]) == (None, [])
    assert states_of(["Ongoing", "ongoing", "x"]) == (frozenset({TransactionState.ONGOING}), ["ongoing", "x"])


def test_a_long_list_gives_others_their_turn_and_bears_changes_meanwhile() -> None:
    driver = Driver()
    for number in range(LISTED_PER_STEP + 10):
        driver.init(str(number))
    listing = driver.machine.listed(ALL, 0)
    first = list(iter(lambda: next(listing), None))
    assert len(first) == LISTED_PER_STEP
    driver.machine._table.forget(str(LISTED_PER_STEP + 1))
    rest = [known for known in listing if known is not None]
    assert len(rest) == 9


def test_a_description_is_refused_for_ids_that_are_empty_unknown_or_not_loaded() -> None:
    driver = busy()
    found = driver.machine.described("old")
    assert isinstance(found, Transaction)
    assert driver.machine.described("") == ErrorCode.INVALID_REQUEST
    assert driver.machine.described("x") == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    loading = [driver.machine.is_loading]
    driver.machine.unload(range(3), 0)
    assert [*loading, driver.machine.is_loading] == [False, True]
    assert driver.machine.described("old") == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
