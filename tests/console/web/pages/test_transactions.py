"""Transactions in a browser."""

from __future__ import annotations

import json

import pytest

from console import transaction_admin
from protocol.messages.init_producer_id import InitProducerIdRequest
from tests.broker.kit import create
from tests.broker.txn import Producer
from tests.console.test_transaction_admin import hang
from tests.console.web.kit import Web


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Web:
    """Return a console on a broker with a transaction that is open in two partitions."""
    monkeypatch.setattr(transaction_admin, "PAUSE_SECONDS", 0)
    found = Web()
    create(found.broker.client(), "t", partitions=2)
    producer = Producer(found.broker, "mine/1")
    producer.write("t", 0, b"a")
    producer.write("t", 1, b"b")
    return found


PATH = "/transactions/mine%2F1"


def test_each_id_is_a_row_and_leads_to_its_partitions(web: Web) -> None:
    (row,) = json.loads(web.get("/transactions?as=json").body)
    assert (row["transactional_id"], row["state"]) == ("mine/1", "Ongoing")
    assert web.get("/transactions").links("mine/1") == [PATH]
    rows = json.loads(web.get(f"{PATH}?as=json").body)
    assert sorted((row["topic"], row["partition"]) for row in rows) == [("t", 0), ("t", 1)]


def test_states_are_chosen_and_unknown_ones_refused(web: Web) -> None:
    assert json.loads(web.get("/transactions?state=Ongoing&as=json").body)
    assert "No transaction is in the state Empty" in web.get("/transactions?state=Empty").text
    assert web.get("/transactions?state=Open").status == 400


def test_one_is_aborted_by_its_name_after_a_plan(web: Web) -> None:
    page = web.get(f"{PATH}/abort")
    assert "kawal transactions abort mine/1" in page.text
    assert "2 partitions is aborted" in page.text
    assert web.post(f"{PATH}/abort", confirm="mine").status == 400
    assert "Ongoing" in web.get(PATH).text
    assert web.post(f"{PATH}/abort", confirm="mine/1").status == 303
    page = web.get(PATH)
    assert "Ongoing" not in page.text
    assert "No transaction is open" in page.text


def test_one_that_is_not_there_is_a_sentence_and_none_says_what_makes_one() -> None:
    web = Web()
    for path in ("/transactions/x", "/transactions/x/abort"):
        assert (web.get(path).status, web.get(path).problem) == (404, "there is no transactional id 'x'")
    assert "There is no transactional id yet" in web.get("/transactions").text
    assert "No transaction hangs" in web.get("/hanging").text


def test_one_that_hangs_is_found_and_aborted_by_its_place(web: Web) -> None:
    create(web.broker.client(), "u")
    assert json.loads(web.get("/hanging?as=json").body) == []
    hang(web.broker)  # in partition 0 of t
    (row,) = json.loads(web.get("/hanging?as=json").body)
    assert (row["topic"], row["partition"], row["producer_id"]) == ("t", 0, 77)
    (path,) = web.get("/hanging").links("Abort…")
    page = web.get(path)
    assert (
        f"kawal transactions abort --topic t --partition 0 --start-offset {row['start_offset']}" in page.text
    )
    fields = {"topic": "t", "partition": "0", "start": str(row["start_offset"])}
    assert web.send("/hanging/abort", {**fields, "confirm": "x"}).status == 400
    assert web.send("/hanging/abort", {**fields, "confirm": "t"}).status == 303
    assert json.loads(web.get("/hanging?as=json").body) == []


def test_one_that_the_coordinator_will_end_is_not_aborted_by_its_place(web: Web) -> None:
    page = web.post("/hanging/abort", topic="t", partition="0", start="0", confirm="t")
    assert "does not hang" in page.problem


def test_an_abort_without_a_place_is_a_sentence() -> None:
    assert Web().get("/hanging/abort").status == 400
    assert Web().get("/hanging/abort?topic=t&partition=x").status == 400


def test_a_read_only_console_offers_and_sends_no_abort(web: Web) -> None:
    looking = Web(broker=web.broker, read_only=True)
    assert looking.get(PATH).links("Abort…") == []
    assert looking.post(f"{PATH}/abort", confirm="mine/1").status == 403
    assert not [sent for sent in looking.sent if isinstance(sent, InitProducerIdRequest)]
