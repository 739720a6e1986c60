"""Tests of the configs with which a topic cannot hold a copy."""

from __future__ import annotations

import pytest

from pipeline.errors import TargetError
from pipeline.sinks.target_topics import check_configs


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
