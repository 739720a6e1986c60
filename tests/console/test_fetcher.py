"""Batches read from a whole broker: records from a position on, transactions, and what goes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from kafka.structs import TopicPartition

from console.errors import CommandError
from console.fetcher import Fetcher, leaders_in
from console.link import Link, LinkLost
from protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from protocol.record_reader import Record
from protocol.record_writer import encode_batch, transaction_marker_batch
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.console.bench import GatewayLink
from tests.console.gateway import connect

ZERO, ONE = TopicPartition("t", 0), TopicPartition("t", 1)


class ClosableLink(GatewayLink):
    """A link to a broker in memory."""

    def close(self) -> None: ...


@pytest.fixture
def gateway(monkeypatch: pytest.MonkeyPatch) -> Gateway:
    return connect(monkeypatch)


@pytest.fixture
def link(gateway: Gateway) -> Callable[[str], Any]:
    return type("Linked", (ClosableLink,), {"gateway": gateway})


def values_of(fetcher: Fetcher, polls: int = 2) -> list[bytes | None]:
    found: list[bytes | None] = []
    for _ in range(polls):
        for records in fetcher.poll(0).values():
            found += [record.value for record in records]
    return found


def test_records_of_every_partition_come_once_up_to_their_ends(
    gateway: Gateway, link: Callable[[str], Any]
) -> None:
    client = gateway.client()
    create(client, "t", 2)
    send(client, "t", batch(b"a", b"b", b"c"))
    send(client, "t", batch(b"x"), partition=1)
    fetcher = Fetcher("h:1", {ZERO: 1, ONE: 0}, ends={ZERO: 3, ONE: 1}, connect=link)
    assert sorted(filter(None, values_of(fetcher))) == [b"b", b"c", b"x"]
    assert (fetcher.position(ZERO), fetcher.position(ONE)) == (3, 1)


def test_a_paused_partition_is_read_no_more(gateway: Gateway, link: Callable[[str], Any]) -> None:
    client = gateway.client()
    create(client, "t", 1)
    send(client, "t", batch(b"a"))
    fetcher = Fetcher("h:1", {ZERO: 0}, ends={ZERO: 1}, connect=link)
    fetcher.pause(ZERO)
    assert values_of(fetcher) == []


def answer_of(*batches: bytes, code: int = 0, aborted: tuple[tuple[int, int], ...] = ()) -> FetchResponse:
    data = PartitionData(
        partition_index=0,
        error_code=code,
        high_watermark=99,
        aborted_transactions=[AbortedTransaction(producer_id=pid, first_offset=at) for pid, at in aborted],
        records=b"".join(batches),
    )
    return FetchResponse(responses=[FetchableTopicResponse(topic="t", partitions=[data])])


class Scripted:
    """A link that gives prepared answers, or raises them."""

    def __init__(self, *answers: FetchResponse | LinkLost) -> None:
        self._answers = list(answers)
        self.in_flight = 0
        self.is_closed = False

    def __call__(self, _address: str) -> Any:
        return self

    def send(self, _request: Any, _version: int) -> None:
        self.in_flight = 1

    def receive(self) -> FetchResponse:
        self.in_flight = 0
        answer = self._answers.pop(0)
        if isinstance(answer, LinkLost):
            raise answer
        return answer

    def close(self) -> None:
        self.is_closed = True


def scripted(gateway: Gateway, *answers: FetchResponse | LinkLost, **options: Any) -> Fetcher:
    create(gateway.client(), "t", 1)
    return Fetcher("h:1", {ZERO: 0}, connect=Scripted(*answers), wait=lambda _: None, **options)


def records(*values: bytes, offset: int = 0, producer_id: int = -1) -> bytes:
    listed = [Record(offset + at, 5, None, value) for at, value in enumerate(values)]
    transactional = producer_id >= 0
    return bytes(
        encode_batch(
            listed,
            producer_id=producer_id,
            producer_epoch=0 if transactional else -1,
            base_sequence=0 if transactional else -1,
            transactional=transactional,
        )
    )


def marker(offset: int, producer_id: int, *, commit: bool) -> bytes:
    made = transaction_marker_batch(
        offset=offset,
        timestamp_ms=5,
        producer_id=producer_id,
        producer_epoch=0,
        commit=commit,
        coordinator_epoch=0,
    )
    return bytes(made)


def test_aborted_records_and_markers_are_left_out(gateway: Gateway) -> None:
    answer = answer_of(
        records(b"lost", producer_id=7),
        records(b"plain", offset=1),
        marker(2, 7, commit=False),
        records(b"kept", offset=3, producer_id=7),
        marker(4, 7, commit=True),
        aborted=((7, 0),),
    )
    fetcher = scripted(gateway, answer, read_committed=True)
    assert values_of(fetcher, polls=1) == [b"plain", b"kept"]
    assert fetcher.position(ZERO) == 5


def test_a_damaged_batch_is_not_printed(gateway: Gateway) -> None:
    damaged = bytearray(records(b"a"))
    damaged[-2] ^= 1
    with pytest.raises(CommandError, match=r"partition 0 of 't': the batch at offset 0 is damaged"):
        scripted(gateway, answer_of(bytes(damaged))).poll(0)


@pytest.mark.parametrize("code", [5, 6])
def test_a_leader_that_has_moved_is_looked_for_again(gateway: Gateway, code: int) -> None:
    fetcher = scripted(gateway, answer_of(code=code), answer_of(records(b"a")))
    assert values_of(fetcher) == [b"a"]


def test_another_error_is_told_with_its_partition(gateway: Gateway) -> None:
    with pytest.raises(CommandError, match=r"partition 0 of 't': .*[Aa]uthoriz"):
        scripted(gateway, answer_of(code=29)).poll(0)


def test_a_position_beyond_the_log_is_told(gateway: Gateway) -> None:
    with pytest.raises(CommandError, match="no longer holds offset 0"):
        scripted(gateway, answer_of(code=1)).poll(0)


def test_a_lost_connection_is_noted_and_made_again(gateway: Gateway) -> None:
    from console.client import Trouble

    trouble = Trouble()
    waited: list[float] = []
    script = Scripted(LinkLost("gone"), answer_of(records(b"a")))
    create(gateway.client(), "t", 1)
    fetcher = Fetcher("h:1", {ZERO: 0}, trouble=trouble, connect=script, wait=waited.append)
    assert fetcher.poll(250) == {}
    assert (trouble.take(), script.is_closed, waited) == (True, True, [0.25])
    script.in_flight = 0
    assert values_of(fetcher, polls=1) == [b"a"]


def test_leaders_have_an_address_each() -> None:
    partitions = [
        MetadataResponsePartition(partition_index=at, leader_id=leader, replica_nodes=[], isr_nodes=[])
        for at, leader in enumerate((1, 2, -1))
    ]
    answer = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=1, host="h", port=1),
            MetadataResponseBroker(node_id=2, host="::1", port=2),
        ],
        topics=[MetadataResponseTopic(name="t", partitions=partitions)],
    )
    assert leaders_in(answer) == {("t", 0): "h:1", ("t", 1): "[::1]:2"}
    answer.topics[0].error_code = 3
    with pytest.raises(CommandError, match="topic 't' does not exist any more"):
        leaders_in(answer)


def test_the_real_link_is_the_default() -> None:
    from console.fetcher import connect as connect_really

    assert connect_really.__annotations__["return"] == Link.__name__
