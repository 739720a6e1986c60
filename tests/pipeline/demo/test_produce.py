"""The producer of the demo's records, with a stand-in for the client that fills up, fails or stays silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib import util
from types import SimpleNamespace
from typing import Any

import confluent_kafka
import confluent_kafka.admin
import pytest

from pipeline.demo.produce import (
    PARTITIONS,
    POLL_RECORDS,
    create_topics,
    delete_topics,
    produce,
    require_client,
)
from pipeline.errors import SetupError, SourceError

FLIGHTS = [{"carrier": "UA", "flight": number} for number in range(5)]


class Client:
    """A client of `room` records at most; a poll reports deliveries, but never those of the `silent` last."""

    def __init__(self, *, room: int = 10**9, failing: tuple[int, ...] = (), silent: int = 0) -> None:
        self.settings: dict[str, Any] = {}
        self.records: list[tuple[str, bytes, bytes]] = []
        self.room, self.failing, self.silent = room, failing, silent
        self.polls: list[float] = []
        self._waiting: list[tuple[int, Callable[..., None]]] = []

    def __call__(self, settings: dict[str, Any]) -> Client:
        self.settings = settings
        return self

    def produce(self, topic: str, value: bytes, key: bytes, *, on_delivery: Callable[..., None]) -> None:
        if len(self._waiting) >= self.room:
            raise BufferError("queue full")
        self._waiting.append((len(self.records), on_delivery))
        self.records.append((topic, value, key))

    def poll(self, timeout: float) -> None:
        self.polls.append(timeout)
        self._report(self._waiting)

    def flush(self, timeout: float) -> int:
        self._report(self._waiting[: len(self._waiting) - self.silent])
        return len(self._waiting)

    def _report(self, waiting: list[tuple[int, Callable[..., None]]]) -> None:
        for number, on_delivery in list(waiting):
            on_delivery("the broker is gone" if number in self.failing else None, None)
            self._waiting.remove((number, on_delivery))


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> Callable[[Client], Client]:
    """Return a function that replaces confluent-kafka's client by another."""

    def put(client: Client) -> Client:
        monkeypatch.setattr(confluent_kafka, "Producer", client)
        return client

    return put


def silently(_delivered: int) -> None:
    """Ignore the progress."""


def test_records_that_were_refused_are_counted_with_the_first_cause(stand_in: Any) -> None:
    stand_in(Client(failing=(1, 3)))

    with pytest.raises(SourceError) as raised:
        produce("b:1", "flights", FLIGHTS, key="carrier", tell=silently)

    assert str(raised.value) == "2 of 5 records of 'flights' were not acknowledged: the broker is gone"


def test_records_without_an_answer_are_counted_too(stand_in: Any) -> None:
    stand_in(Client(silent=2))

    with pytest.raises(
        SourceError, match="2 of 5 records of 'flights' were not acknowledged: no answer within 60 s"
    ):
        produce("b:1", "flights", FLIGHTS, key="carrier", tell=silently)


def test_every_record_is_produced_as_json_under_its_key(stand_in: Any) -> None:
    client = stand_in(Client())

    assert produce("b:1", "flights", FLIGHTS, key="carrier", tell=silently) == 5

    assert [json.loads(value) for _, value, _ in client.records] == FLIGHTS
    assert {(topic, key) for topic, _, key in client.records} == {("flights", b"UA")}
    assert client.settings["bootstrap.servers"] == "b:1"
    assert client.settings["enable.idempotence"] is True


def test_a_full_queue_waits_for_deliveries_and_loses_nothing(stand_in: Any) -> None:
    client = stand_in(Client(room=2))

    assert produce("b:1", "flights", FLIGHTS, key="carrier", tell=silently) == 5

    assert [json.loads(value)["flight"] for _, value, _ in client.records] == [0, 1, 2, 3, 4]
    assert client.polls == [0.1, 0.1]


def test_progress_is_told_once_a_second(stand_in: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(Client())
    seconds = iter([0.0, 0.5, 1.5, 1.5, 1.6, 2.5, 2.5])
    clock = SimpleNamespace(monotonic=lambda: next(seconds))
    monkeypatch.setattr("pipeline.demo.produce.time", clock)
    told: list[int] = []

    produce("b:1", "t", [{"k": "a"}] * (4 * POLL_RECORDS), key="k", tell=told.append)

    assert told == [2 * POLL_RECORDS, 4 * POLL_RECORDS]


def test_no_records_are_no_mistake(stand_in: Any) -> None:
    stand_in(Client())

    assert produce("b:1", "flights", [], key="carrier", tell=silently) == 0


class Admin:
    """An admin client whose answer for each topic is that of `answers`, an exception or nothing."""

    answers: dict[str, Exception] = {}  # noqa: RUF012  (set by each test through monkeypatch)
    asked: list[Any] = []  # noqa: RUF012

    def __init__(self, settings: dict[str, Any]) -> None:
        self.asked.append(settings["bootstrap.servers"])

    def create_topics(self, topics: list[Any], *, request_timeout: float) -> dict[str, Any]:
        self.asked += [(new.topic, new.num_partitions, new.replication_factor) for new in topics]
        return {new.topic: self._future(new.topic) for new in topics}

    def delete_topics(self, names: list[str]) -> dict[str, Any]:
        self.asked += names
        return {name: self._future(name) for name in names}

    def _future(self, name: str) -> Any:
        def result() -> None:
            if name in self.answers:
                raise self.answers[name]

        return SimpleNamespace(result=result)


@pytest.fixture
def admin(monkeypatch: pytest.MonkeyPatch) -> type[Admin]:
    monkeypatch.setattr(Admin, "answers", {})
    monkeypatch.setattr(Admin, "asked", [])
    monkeypatch.setattr(confluent_kafka.admin, "AdminClient", Admin)
    return Admin


def test_a_topic_that_could_not_be_created_is_named_with_its_broker(admin: type[Admin]) -> None:
    admin.answers["weather"] = confluent_kafka.KafkaException("no room")

    with pytest.raises(SourceError, match="the topic 'weather' was not created on b:1: no room"):
        create_topics("b:1", {"flights": {}, "weather": {}})


def test_topics_are_created_with_as_many_partitions_as_the_demo_shows(admin: type[Admin]) -> None:
    create_topics("b:1", {"flights": {}, "weather": {}})

    assert admin.asked == ["b:1", ("flights", PARTITIONS, 1), ("weather", PARTITIONS, 1)]


def test_topics_are_deleted_and_a_refusal_is_told(admin: type[Admin]) -> None:
    delete_topics("b:1", ["flights"])
    admin.answers["weather"] = confluent_kafka.KafkaException("not allowed")

    with pytest.raises(confluent_kafka.KafkaException, match="not allowed"):
        delete_topics("b:1", ["weather"])
    assert admin.asked == ["b:1", "flights", "b:1", "weather"]


def test_without_the_client_the_way_to_install_it_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    require_client()
    monkeypatch.setattr(util, "find_spec", lambda _name: None)

    with pytest.raises(SetupError, match="pip install confluent-kafka"):
        require_client()
