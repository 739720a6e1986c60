"""The target as its driver sees it: what is copied of configs, and what must be installed."""

from __future__ import annotations

from concurrent.futures import Future
from importlib import util

import pytest
from confluent_kafka import KafkaError, KafkaException

from pipeline.errors import SetupError
from pipeline.sinks.topics import by_place, copied_configs, made, require_client, target_client
from tests.pipeline.made import LAKE, job


def test_configs_are_copied_but_for_those_of_the_broker_and_of_timestamps() -> None:
    configs = {
        "retention.ms": "-1",
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
        "kawal.columns": "n int",
        "leader.replication.throttled.replicas": "*",
        "remote.storage.enable": "true",
    }
    assert copied_configs(configs) == {"retention.ms": "-1", "cleanup.policy": "compact"}


def test_settings_of_the_target_are_texts_as_librdkafka_takes_them() -> None:
    copy = job(
        LAKE,
        job={"name": "a", "kind": "replicate"},
        target={"bootstrap": "b:1", "options": {"socket.keepalive.enable": True, "linger.ms": 5}},
    )
    settings = target_client(copy)
    assert settings["bootstrap.servers"] == "b:1"
    assert (settings["socket.keepalive.enable"], settings["linger.ms"]) == ("true", "5")


def test_positions_are_turned_over_to_places() -> None:
    assert by_place({"t": {"0": 5, "10": 7}}) == {("t", 0): 5, ("t", 10): 7}


def test_a_missing_client_is_named_with_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(util, "find_spec", lambda _name: None)
    with pytest.raises(SetupError, match=r"pip install 'kawal\[replicate\]'"):
        require_client()


def test_a_topic_that_another_run_has_just_created_is_taken_as_it_is() -> None:
    """Bug: of two drivers that began at once, one ended as the map of offsets was there already."""
    there, refused = Future[None](), Future[None]()
    there.set_exception(KafkaException(KafkaError(KafkaError.TOPIC_ALREADY_EXISTS)))
    made(there)
    refused.set_exception(KafkaException(KafkaError(KafkaError.POLICY_VIOLATION)))
    with pytest.raises(KafkaException):
        made(refused)
