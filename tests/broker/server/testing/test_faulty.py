"""The broker with faults in it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import pytest

from broker.core import Broker
from broker.server.testing.clock import Clock
from broker.server.testing.faults import Fault, Faults
from broker.server.testing.faulty import OWN_CLIENT_ID, FaultyBroker
from broker.start import open_broker
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.headers import encode_request_header
from protocol.messages.metadata import MetadataRequest
from protocol.wire import encode
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import batch, create, outcomes, producing, read

TOPICS = {"t": 2, "other": 1}


class FaultyGateway(Gateway):
    """A gateway whose broker has faults."""

    def _open(self) -> Broker:
        broker = open_broker(
            self.disk,
            self.config,
            random=Random(1),
            now_ms=self.now_ms,
            wall_ms=self.now_ms,
            kind=FaultyBroker,
        )
        assert isinstance(broker, FaultyBroker)
        broker.faults = self.faults = Faults()
        broker.counts = Counter()
        broker.steady = self.clock = Clock(lambda: self.now_ms)
        return broker


@pytest.fixture
def gateway() -> FaultyGateway:
    return FaultyGateway(kawal_vnodes=1)


def produce(client: Client, *targets: tuple[str, int, bytes], acks: int = -1) -> list[int]:
    request = producing(*((name, index, batch(value)) for name, index, value in targets), acks=acks)
    return [outcome.error_code for outcome in outcomes(client.call(request, 9))]


def fail(gateway: FaultyGateway, **options: Any) -> int:
    return gateway.faults.add(Fault(kind="fail_produce", error=ErrorCode.NOT_LEADER_OR_FOLLOWER, **options))


def test_a_failing_produce_is_answered_with_its_error_and_stores_nothing(
    gateway: FaultyGateway, client: Client
) -> None:
    number = fail(gateway, times=1)
    assert produce(client, ("t", 0, b"a")) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert produce(client, ("t", 0, b"b")) == [ErrorCode.NONE]
    assert read(client, "t") == [b"b"]
    assert gateway.faults.hits(number) == 1


def test_partitions_that_are_not_meant_are_stored(gateway: FaultyGateway, client: Client) -> None:
    fail(gateway, topic="t", partition=1)
    assert sorted(produce(client, ("t", 0, b"a"), ("t", 1, b"b"), ("other", 0, b"c"))) == [0, 0, 6]
    assert read(client, "t") == [b"a"]
    assert read(client, "other") == [b"c"]
    assert produce(client, ("other", 0, b"d")) == [0]


def test_a_topic_known_by_its_id_is_meant_by_its_name(gateway: FaultyGateway) -> None:
    client = gateway.client()
    topic_id = create(client, "t")
    fail(gateway, topic="t")
    answer = client.call(producing(("", 0, batch(b"a")), topic_id=topic_id), 13)
    assert [outcome.error_code for outcome in outcomes(answer)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_without_acks_a_failing_produce_ends_the_connection(gateway: FaultyGateway, client: Client) -> None:
    fail(gateway)
    client.send_unanswered(producing(("t", 0, batch(b"a")), ("other", 0, batch(b"b")), acks=0), 9)
    assert client.connection.close_reason is not None
    fail(gateway)
    other = gateway.client()
    other.send_unanswered(producing(("t", 0, batch(b"a")), acks=0), 9)
    assert other.connection.close_reason is not None


def test_a_lost_answer_leaves_the_records_and_ends_the_connection(
    gateway: FaultyGateway, client: Client
) -> None:
    gateway.faults.add(Fault(kind="lose_answer", api_key=ApiKey.PRODUCE, times=1))
    client.send(producing(("t", 0, batch(b"a"))), 9)
    gateway.settle()
    assert client.connection.aborted
    assert client.answers() == []
    assert read(gateway.client(), "t") == [b"a"]


def test_a_dropped_request_is_not_carried_out(gateway: FaultyGateway, client: Client) -> None:
    gateway.faults.add(Fault(kind="drop", api_key=ApiKey.PRODUCE, times=1))
    client.send(producing(("t", 0, batch(b"a"))), 9)
    gateway.settle()
    assert client.connection.aborted
    assert read(gateway.client(), "t") == []


def test_slow_answers_leave_later_and_in_order(gateway: FaultyGateway, client: Client) -> None:
    gateway.faults.add(Fault(kind="slow", delay_ms=100, times=1))
    gateway.faults.add(Fault(kind="slow", delay_ms=50, times=1))
    client.send(MetadataRequest(topics=[]), 9)
    client.send(MetadataRequest(topics=[]), 12)
    assert client.answers() == []
    gateway.advance(149)
    assert client.answers() == []
    gateway.advance(1)
    assert len(client.answers()) == 2


def test_slow_answers_may_be_long_ones(gateway: FaultyGateway, client: Client) -> None:
    for number in range(1_100):
        create(client, f"many-{number}")
    gateway.faults.add(Fault(kind="slow", delay_ms=100))
    client.send(MetadataRequest(topics=None), 12)
    gateway.settle()
    assert client.answers() == []
    gateway.advance(100)
    assert len(client.answers()[0].topics) == 1_102


def test_a_slow_produce_may_fail_as_well(gateway: FaultyGateway, client: Client) -> None:
    gateway.faults.add(Fault(kind="slow", delay_ms=100))
    fail(gateway)
    client.send(producing(("t", 0, batch(b"a"))), 9)
    gateway.advance(100)
    (answer,) = client.answers()
    assert [outcome.error_code for outcome in outcomes(answer)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


def test_the_commands_own_client_meets_no_fault(gateway: FaultyGateway) -> None:
    gateway.faults.add(Fault(kind="drop"))
    client = gateway.client()
    request = MetadataRequest(topics=[])
    frame = encode_request_header(
        api_key=ApiKey.METADATA, api_version=9, correlation_id=1, client_id=OWN_CLIENT_ID
    ) + b"".join(encode(request, 9))  # type: ignore[arg-type]
    client.send_bytes(len(frame).to_bytes(4, "big") + frame)
    assert client.connection.outgoing


def test_nothing_falls_due_by_itself_while_the_clock_is_stopped(gateway: FaultyGateway) -> None:
    broker = gateway.broker
    assert isinstance(broker, FaultyBroker)
    gateway.advance(0)
    broker.timers.add(gateway.now_ms + 1, lambda _now_ms: None)
    gateway.clock.stop()
    assert broker.next_deadline() is None
    assert broker.next_due_ms() is not None
    gateway.clock.go()
    assert broker.next_deadline() is not None
