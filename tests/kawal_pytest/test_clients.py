"""Clients of three libraries: their settings, who closes them, and the sentence when a library is missing."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from kawal_pytest import KawalError
from kawal_pytest.clients import Aiokafka, ConfluentKafka, KafkaPython

BOOTSTRAP = "127.0.0.1:4711"


class FakeClient:
    """A client that remembers what it was made with."""

    def __init__(self, *topics: Any, **settings: Any) -> None:
        self.topics, self.settings = topics, settings
        self.calls: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *_: self.calls.append(name)


@pytest.fixture(autouse=True)
def libraries(monkeypatch: pytest.MonkeyPatch) -> None:
    kinds = ("KafkaProducer", "KafkaConsumer", "KafkaAdminClient", "Producer", "Consumer", "AdminClient")
    aio = ("AIOKafkaProducer", "AIOKafkaConsumer", "AIOKafkaAdminClient")
    fake = SimpleNamespace(**dict.fromkeys((*kinds, *aio), FakeClient))
    for name in ("kafka", "confluent_kafka", "confluent_kafka.admin", "aiokafka", "aiokafka.admin"):
        monkeypatch.setitem(sys.modules, name, fake)


def test_kafka_pythons_are_closed_with_the_test() -> None:
    clients = KafkaPython(BOOTSTRAP)
    consumer = clients.consumer("a", "b", group_id="g")
    made = [clients.producer(), consumer, clients.admin()]
    assert consumer.topics == ("a", "b")
    assert consumer.settings["group_id"] == "g"
    assert {client.settings["bootstrap_servers"] for client in made} == {BOOTSTRAP}
    clients.close()
    assert [client.calls for client in made] == [["close"]] * 3


def test_confluents_take_settings_as_a_table_and_are_closed_with_the_test() -> None:
    clients = ConfluentKafka(BOOTSTRAP)
    producer, consumer = clients.producer({"linger.ms": 5}), clients.consumer("a", settings={"group.id": "g"})
    assert producer.topics[0]["linger.ms"] == 5
    assert consumer.topics[0]["group.id"] == "g"
    assert clients.admin().topics[0]["bootstrap.servers"] == BOOTSTRAP
    clients.close()
    assert producer.calls == ["purge"]
    assert consumer.calls == ["subscribe", "close"]


def test_aiokafkas_begin_at_the_first_record_and_are_closed_by_their_user() -> None:
    clients = Aiokafka(BOOTSTRAP)
    assert clients.consumer("a").settings["auto_offset_reset"] == "earliest"
    assert clients.producer(linger_ms=5).settings["linger_ms"] == 5
    assert clients.admin().settings["bootstrap_servers"] == BOOTSTRAP


@pytest.mark.parametrize(
    ("clients", "module", "package"),
    [
        (KafkaPython, "kafka", "kafka-python"),
        (ConfluentKafka, "confluent_kafka", "confluent-kafka"),
        (Aiokafka, "aiokafka", "aiokafka"),
    ],
)
def test_a_library_that_is_missing_is_named(
    clients: Any, module: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(KawalError, match=f"the fixture needs the package '{package}'"):
        clients(BOOTSTRAP)
