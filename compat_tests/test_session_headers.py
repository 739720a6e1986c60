"""kawal.session.headers with real clients: headers that no program sends, read by any consumer."""

from __future__ import annotations

from typing import Any

import pytest
from kafka import KafkaProducer

from compat_tests.confluent import make_producer, open_consumer, read
from compat_tests.conftest import StartBroker
from compat_tests.topics import create_topic

pytestmark = pytest.mark.only_kawal("Apache Kafka stores records as they were sent")

HEADERS = "client:gw:site=plant-4,transaction:tx:site=office"


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_get_the_headers_of_their_client_and_survive_a_kill(
    start_broker: StartBroker, codec: str
) -> None:
    broker = start_broker()
    create_topic(broker, "t", 1, {"kawal.session.headers": HEADERS})
    for name in ("gw", "other"):
        producer = make_producer(broker, client_id=name, enable_idempotence=True, compression_type=codec)
        for number in range(300):
            producer.produce("t", b"%d" % number, partition=0, headers=[("trace", b"1")])
        assert producer.flush(60) == 0
    broker.kill()
    broker.restart()
    with open_consumer(broker) as consumer:
        found = [(message.value(), message.headers()) for message in read(consumer, "t", 600)]
    site = ("site", b"plant-4")
    assert found == [(b"%d" % number, [("trace", b"1"), site]) for number in range(300)] + [
        (b"%d" % number, [("trace", b"1")]) for number in range(300)
    ]


def test_a_transaction_has_the_headers_of_its_id_and_kafka_python_those_of_its_client(
    start_broker: StartBroker,
) -> None:
    broker = start_broker()
    create_topic(broker, "t", 1, {"kawal.session.headers": HEADERS})
    producer = make_producer(broker, client_id="gw", transactional_id="tx")
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce("t", b"a", partition=0)
    producer.commit_transaction(60)
    other: Any = KafkaProducer(bootstrap_servers=broker.bootstrap, client_id="gw")
    assert other.send("t", b"b", partition=0).get(60).offset == 2
    other.close()
    with open_consumer(broker) as consumer:
        found = read(consumer, "t", 2)
    assert [(message.value(), message.headers()) for message in found] == [
        (b"a", [("site", b"office")]),
        (b"b", [("site", b"plant-4")]),
    ]
