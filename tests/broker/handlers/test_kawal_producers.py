"""KawalProducers: last numbers and partitions of named producers."""

from __future__ import annotations

from typing import Any

from broker.handlers.kawal_producers import NAMES_PER_STEP
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_producers import KawalProducersRequest
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, outcomes, producing
from tests.broker.numbered import dedup_topic, numbered, of_records, sent
from tests.broker.txn import Producer

DAY_MS = 86_400_000


def rows(client: Client, *names: bytes) -> dict[bytes, tuple[int, int, int, int]]:
    """Return partition, last number, open number and time by name."""
    answer = client.call(KawalProducersRequest(topic="t", names=list(names) or None), 0)
    assert answer.error_code == 0, answer
    return {
        found.name: (found.partition, found.last_seqno, found.open_seqno, found.written_ms)
        for found in answer.producers
    }


def test_a_producer_that_starts_again_learns_its_last_number_and_partition(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(client, partitions=8)
    sent(client, 5)
    sent(client, 9, partition=6)
    sent(client, 1, name=b"another")
    gateway.restart()
    client = gateway.client()
    assert rows(client, b"sensor", b"unknown") == {b"sensor": (6, 9, -1, START_MS)}
    assert rows(client) == {b"sensor": (6, 9, -1, START_MS), b"another": (0, 1, -1, START_MS)}


def test_numbers_of_an_open_transaction_are_told_apart(gateway: Gateway, client: Client) -> None:
    dedup_topic(client)
    sent(client, 5)
    producer = Producer(gateway)
    data = numbered(7, producer=(producer.producer_id, producer.epoch, 0), transactional=True)
    request = producing(("t", 0, data))
    request.transactional_id = producer.name
    assert outcomes(producer.client.call(request, 12))[0].error_code == 0
    assert rows(client) == {b"sensor": (0, 5, 7, START_MS)}


def test_expired_producers_are_not_shown(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(client, kawal_producer_binding_ttl_ms=str(DAY_MS))
    sent(client, 5)
    gateway.now_ms += DAY_MS + 1
    gateway.tick()
    client = gateway.client()
    assert rows(client) == rows(client, b"sensor") == {}


def test_many_producers_are_listed_in_slices(client: Client) -> None:
    dedup_topic(client)
    names = [b"%d" % number for number in range(1_000)]
    for start in (0, 500):
        data = of_records([(name, 1) for name in names[start : start + 500]])
        assert outcomes(client.call(producing(("t", 0, data)), 9))[0].error_code == 0
    assert set(rows(client)) == set(names)


def test_names_that_no_producer_has_are_looked_for_in_slices(gateway: Gateway, client: Client) -> None:
    """All of them were looked for without a pause: 24 ms."""
    dedup_topic(client)
    sent(client, 5)
    names = [b"%d" % number for number in range(10 * NAMES_PER_STEP)]
    client.send(KawalProducersRequest(topic="t", names=[*names, b"sensor"]), 0)
    steps = 0
    while gateway.broker.scheduler.pending:
        gateway.broker.scheduler.run()
        steps += 1
    assert steps >= 10
    (answer,) = client.answers()
    assert [found.name for found in answer.producers] == [b"sensor"]


def test_other_topics_are_refused(client: Client) -> None:
    def code(name: str) -> tuple[int, Any]:
        answer = client.call(KawalProducersRequest(topic=name), 0)
        return answer.error_code, answer.error_message

    create(client, "plain")
    assert code("plain") == (
        ErrorCode.INVALID_REQUEST,
        "topic 'plain' does not remember producers by name: it has no kawal.dedup=seqno",
    )
    assert code("none")[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
