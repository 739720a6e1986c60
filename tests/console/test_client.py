"""Connecting, and the sentences made of kafka-python's errors."""

import argparse
import logging
import socket

import pytest
from kafka.errors import KafkaTimeoutError, TopicAlreadyExistsError, UnknownTopicOrPartitionError

from console import client
from console.client import (
    add_bootstrap,
    admin_client,
    check_reachable,
    consumer_client,
    explained,
    listen_for_trouble,
    refusal,
)
from console.errors import CommandError, UsageError


def unreachable(*_: object, **__: object) -> None:
    raise ConnectionRefusedError(111, "Connection refused")


def test_the_bootstrap_address_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAWAL_BOOTSTRAP", "broker:1")
    parser = argparse.ArgumentParser()
    add_bootstrap(parser)
    assert parser.parse_args([]).bootstrap == "broker:1"
    assert parser.parse_args(["--bootstrap", "other:2"]).bootstrap == "other:2"


@pytest.mark.parametrize("kind", [admin_client, consumer_client])
def test_an_address_nobody_listens_on_is_told_with_advice(
    kind: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "create_connection", unreachable)
    assert callable(kind)
    with (
        pytest.raises(
            CommandError, match=r"cannot reach 127\.0\.0\.1:1 \(Connection refused\), h:2 .*kawal serve"
        ),
        kind("127.0.0.1:1,h:2"),
    ):
        pass


def test_a_name_that_no_host_has_cannot_be_reached() -> None:
    with pytest.raises(CommandError, match=r"cannot reach a\.\.b:1 \(not the name of a host\)"):
        check_reachable("a..b:1")


def test_a_bootstrap_that_is_no_address_is_a_usage_error() -> None:
    with pytest.raises(UsageError, match="--bootstrap: 'localhost' is not HOST:PORT"):
        check_reachable("localhost")


@pytest.fixture
def three_servers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `up` be a broker and `web` another server; nothing listens elsewhere."""

    def connect(address: tuple[str, int], timeout: float) -> socket.socket:
        if address[0] == "down":
            raise TimeoutError("timed out")
        connection = socket.socket()
        answers[connection] = "an HTTP server answers there" if address[0] == "web" else None
        return connection

    answers: dict[socket.socket, str | None] = {}
    monkeypatch.setattr(socket, "create_connection", connect)
    monkeypatch.setattr(client, "strangeness", lambda connection, whole: answers[connection])


@pytest.mark.usefixtures("three_servers")
def test_one_address_that_answers_is_enough() -> None:
    check_reachable("down:1,web:2,up:3")


@pytest.mark.usefixtures("three_servers")
def test_a_server_of_another_kind_is_told_as_such() -> None:
    with pytest.raises(CommandError, match=r"^web:2 is not a Kafka broker .*: an HTTP server answers there$"):
        check_reachable("down:1,web:2")


def test_errors_of_the_client_become_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []

    class Fake:
        def __init__(self, **options: object) -> None:
            if options["bootstrap_servers"] == ["mute:1"]:
                raise KafkaTimeoutError("Unable to bootstrap from mute:1")

        def close(self) -> None:
            closed.append(True)

    monkeypatch.setattr(client, "check_reachable", lambda bootstrap: None)
    with pytest.raises(CommandError, match="does not answer in the Kafka protocol: Unable to bootstrap"):
        client._session("mute:1", Fake).__enter__()
    with pytest.raises(CommandError, match="b:1: no answer"), client._session("b:1", Fake):
        raise KafkaTimeoutError("no answer\nand a dump")
    assert closed == [True]


def test_a_dump_of_the_request_is_replaced_by_the_meaning() -> None:
    error = TopicAlreadyExistsError("Request 'CreateTopicsRequest(…)' failed with response '…'")
    assert explained(error) == "Topic with this name already exists."
    assert explained(UnknownTopicOrPartitionError()).startswith("This request is for a topic")


def test_a_refusal_is_the_brokers_own_words_or_the_codes_meaning() -> None:
    assert refusal(17, "the name 'a b' has a blank") == "the name 'a b' has a blank"
    assert refusal(36, None) == "Topic with this name already exists."


def test_trouble_is_heard_and_kept_off_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    trouble = listen_for_trouble()
    assert not trouble.take()
    logging.getLogger("kafka.net.transport").error("socket disconnected")
    logging.getLogger("kafka.consumer").info("nothing to worry about")
    assert trouble.take()
    assert not trouble.take()
    assert capsys.readouterr() == ("", "")
