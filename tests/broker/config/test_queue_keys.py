"""The settings of share groups that Kafka 4.3 does not have: the values that they take."""

from __future__ import annotations

import pytest

from broker.config.config_keys import ConfigError
from broker.config.group_keys import GROUP_KEYS
from broker.config.queue_keys import DEAD_LETTER_POLICY, DEAD_LETTER_TOPIC, QUEUE_KEYS


def test_every_key_is_one_of_groups_and_documented() -> None:
    assert all(GROUP_KEYS[key.name] is key and key.doc.endswith(".") for key in QUEUE_KEYS)


@pytest.mark.parametrize("name", ["", "dlq.jobs", "anything"])
def test_names_of_dead_letter_topics(name: str) -> None:
    assert GROUP_KEYS[DEAD_LETTER_TOPIC].parse(name) == name


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("__dlq", "must not start with '__'"),
        ("no blanks", "no blanks"),
        ("..", "not allowed"),
        ("x" * 250, "249"),
    ],
)
def test_names_that_no_dead_letter_topic_has(name: str, problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        GROUP_KEYS[DEAD_LETTER_TOPIC].parse(name)


def test_a_policy_is_one_of_three() -> None:
    assert {GROUP_KEYS[DEAD_LETTER_POLICY].parse(name) for name in ("tail", "drop", "keep")}
    with pytest.raises(ConfigError, match="drop, keep, tail"):
        GROUP_KEYS[DEAD_LETTER_POLICY].parse("forget")
