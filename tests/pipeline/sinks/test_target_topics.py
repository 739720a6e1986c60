"""Tests of the configs with which a topic cannot hold a copy."""

from __future__ import annotations

from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import ConfigResource, NewTopic

from pipeline.errors import TargetError
from pipeline.sinks.target_topics import check_configs, check_new_topics, check_timeout


@pytest.mark.parametrize(
    ("configs", "said"),
    [
        ({"message.timestamp.type": "LogAppendTime"}, "the time of its copy"),
        ({"kawal.partition.autosplit.mode": "up"}, "chooses partitions"),
        ({"kawal.partition.autosplit.mode": "paused"}, "chooses partitions"),
        ({"kawal.dedup": "seqno"}, "drops records"),
        ({"kawal.sql": "SELECT a FROM t"}, "it is a view"),
    ],
)
def test_a_topic_that_would_change_what_it_is_given_is_refused(configs: dict[str, str], said: str) -> None:
    with pytest.raises(TargetError, match=said) as refused:
        check_configs("copy", configs)
    assert "'copy'" in str(refused.value)
    assert "target.topic" in str(refused.value)


@pytest.mark.parametrize(
    "configs",
    [
        {},
        {"message.timestamp.type": "CreateTime", "cleanup.policy": "compact"},
        {"kawal.partition.autosplit.mode": "disabled", "kawal.dedup": "none", "kawal.sql": ""},
        {"kawal.sql": None, "kawal.dedup": None},
    ],
)
def test_other_topics_may_hold_a_copy(configs: dict[str, str | None]) -> None:
    check_configs("copy", configs)


class Admin:
    """A client whose broker creates no topic, and allows transactions of a second."""

    def __init__(self, refuses: bool) -> None:
        self.refuses = refuses
        self.asked: list[tuple[str, int, dict[str, str], bool]] = []

    def create_topics(
        self, topics: list[NewTopic], *, validate_only: bool, request_timeout: float
    ) -> dict[str, Future[None]]:
        assert request_timeout == 1.0
        found = {}
        for topic in topics:
            self.asked.append((topic.topic, topic.replication_factor, topic.config, validate_only))
            found[topic.topic] = done(KafkaError(KafkaError.INVALID_CONFIG, "no such config"), self.refuses)
        return found

    def list_topics(self, timeout: float) -> Any:
        assert timeout == 1.0
        return SimpleNamespace(brokers={7: None})

    def describe_configs(self, resources: list[ConfigResource], request_timeout: float) -> Any:
        assert [resource.name for resource in resources] == ["7"]
        hidden = done(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED, "hidden"), self.refuses)
        if not self.refuses:
            hidden = Future()
            hidden.set_result({"transaction.max.timeout.ms": SimpleNamespace(value="1000")})
        return {resources[0]: hidden}


def done(error: KafkaError, refuses: bool) -> Future[Any]:
    answer: Future[Any] = Future()
    if refuses:
        answer.set_exception(KafkaException(error))
    else:
        answer.set_result(None)
    return answer


def test_topics_that_are_missing_are_shown_to_the_broker_and_not_created() -> None:
    admin: Any = Admin(refuses=False)
    check_new_topics(admin, ["a", "b"], 3, {"retention.ms": "5"}, within_seconds=1.0)
    assert admin.asked == [(name, 3, {"retention.ms": "5"}, True) for name in ("a", "b")]
    check_new_topics(admin, [], 3, {}, within_seconds=1.0)


def test_a_topic_that_the_broker_would_not_create_is_refused() -> None:
    admin: Any = Admin(refuses=True)
    with pytest.raises(TargetError, match="would not create the topic 'a': no such config; see"):
        check_new_topics(admin, ["a"], -1, {}, within_seconds=1.0)


def test_transactions_may_take_as_long_as_the_broker_allows_if_it_tells() -> None:
    admin: Any = Admin(refuses=False)
    check_timeout(admin, 1_000, within_seconds=1.0)
    with pytest.raises(TargetError, match="transaction_timeout is 1,001 ms; the target allows 1,000 ms"):
        check_timeout(admin, 1_001, within_seconds=1.0)
    silent: Any = Admin(refuses=True)
    check_timeout(silent, 1_001, within_seconds=1.0)
