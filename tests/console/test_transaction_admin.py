"""Transactions for administrators, against a whole broker."""

from __future__ import annotations

from typing import Any

import pytest

from console import transaction_admin
from console.errors import CommandError
from protocol.messages.metadata import MetadataRequest
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create
from tests.broker.txn import Producer, committed
from tests.console.gateway import connect
from wal.stream_producers import ProducerStamp


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    gateway = connect(monkeypatch)
    create(gateway.client(), "t", partitions=2)
    monkeypatch.setattr(transaction_admin, "PAUSE_SECONDS", 0)
    return gateway


def hang(gateway: Gateway, producer_id: int = 77) -> None:
    """Leave a transaction open in the log that the coordinator has never heard of."""
    partition = gateway.partition("t")
    data = encode_batch(
        [Record(0, START_MS, b"k", b"lost")],
        producer_id=producer_id,
        producer_epoch=3,
        base_sequence=0,
        transactional=True,
    )
    stamp = ProducerStamp(producer_id, 3, 0, 1, is_transactional=True)
    partition.vnode.log.append(partition.stream_id, data, producer=stamp)
    gateway.settle()


def test_only_what_the_coordinator_does_not_know_hangs(gateway: Gateway) -> None:
    Producer(gateway, "fine").write("t", 0, b"a")
    assert transaction_admin.hanging("b") == []
    hang(gateway)
    (found,) = transaction_admin.hanging("b")
    assert (found.topic, found.partition, found.producer_id, found.start_offset) == ("t", 0, 77, 1)
    with pytest.raises(CommandError, match="no topic 'u'"):
        transaction_admin.hanging("b", "u")


def test_a_transaction_that_hangs_is_aborted_by_its_place(gateway: Gateway) -> None:
    hang(gateway)
    with pytest.raises(CommandError, match="from offset 5 on"):
        transaction_admin.abort_hanging("b", "t", 0, 5)
    assert transaction_admin.abort_hanging("b", "t", 0, 0).producer_id == 77
    assert transaction_admin.hanging("b") == []
    assert committed(gateway.client(), "t") == []
    assert gateway.partition("t").last_stable_offset == 2


def test_a_transaction_that_the_coordinator_will_end_is_not_aborted_by_its_place(gateway: Gateway) -> None:
    Producer(gateway, "fine").write("t", 0, b"a")
    with pytest.raises(CommandError, match="does not hang"):
        transaction_admin.abort_hanging("b", "t", 0, 0)


def test_an_id_is_aborted_by_taking_it_over(gateway: Gateway) -> None:
    producer = Producer(gateway, "mine")
    producer.write("t", 0, b"a")
    transaction_admin.abort("b", "mine")
    assert transaction_admin.described("b", ["mine"])[0]["state"] == "Empty"
    assert producer.commit() != 0
    with pytest.raises(CommandError, match="'other'"):
        transaction_admin.abort("b", "other")


def test_a_state_that_does_not_exist_is_named(gateway: Gateway) -> None:
    with pytest.raises(CommandError, match="no state 'Open'"):
        transaction_admin.listed("b", states=["Open"])


def test_looking_for_what_hangs_asks_for_no_topic_to_be_made(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Any] = []
    before: Any = vars(transaction_admin)["ask"]

    def ask(bootstrap: str, request: Any, version: int) -> Any:
        asked.append(request)
        return before(bootstrap, request, version)

    monkeypatch.setattr(transaction_admin, "ask", ask)
    transaction_admin.hanging("x:1")
    (places,) = [request for request in asked if isinstance(request, MetadataRequest)]
    assert not places.allow_auto_topic_creation
