"""ListTransactions: filters by state, producer, duration and name."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.list_transactions import ListTransactionsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.txn import Producer


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway()
    create(gateway.client(), "t")
    Producer(gateway, "idle")
    Producer(gateway, "busy").write("t", 0, b"a")
    return gateway


def ask(gateway: Gateway, version: int = 2, **fields: Any) -> Any:
    request = ListTransactionsRequest(**{"state_filters": [], "producer_id_filters": [], **fields})
    return gateway.client().call(request, version)


def names(gateway: Gateway, **fields: Any) -> list[str]:
    return sorted(found.transactional_id for found in ask(gateway, **fields).transaction_states)


def test_without_filters_every_id_is_listed_with_its_state(gateway: Gateway) -> None:
    found = ask(gateway, version=0).transaction_states
    assert {(known.transactional_id, known.transaction_state) for known in found} == {
        ("idle", "Empty"),
        ("busy", "Ongoing"),
    }


def test_all_filters_must_let_an_id_through(gateway: Gateway) -> None:
    (busy,) = ask(gateway, state_filters=["Ongoing"]).transaction_states
    assert busy.transactional_id == "busy"
    assert names(gateway, producer_id_filters=[busy.producer_id]) == ["busy"]
    assert names(gateway, producer_id_filters=[busy.producer_id], state_filters=["Empty"]) == []
    assert names(gateway, transactional_id_pattern="i.*") == ["idle"]
    assert names(gateway, transactional_id_pattern="dl") == []
    assert names(gateway, transactional_id_pattern="") == ["busy", "idle"]
    assert names(gateway, duration_filter=0, state_filters=["Ongoing"]) == []
    gateway.advance(10)
    assert names(gateway, duration_filter=9, state_filters=["Ongoing"]) == ["busy"]


def test_unknown_states_are_told_and_let_nothing_through(gateway: Gateway) -> None:
    answer = ask(gateway, state_filters=["ongoing", "x"])
    assert (answer.unknown_state_filters, answer.transaction_states) == (["ongoing", "x"], [])


def test_a_pattern_that_is_none_is_refused(gateway: Gateway) -> None:
    assert ask(gateway, transactional_id_pattern="(").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_before_everything_is_loaded_the_list_is_refused(gateway: Gateway) -> None:
    gateway.broker.transactions._machine.unload([3], gateway.now_ms)
    assert ask(gateway).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
