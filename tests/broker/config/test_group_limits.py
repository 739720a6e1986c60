"""Bounds of group settings apply to the server's own values, and agree with each other."""

from __future__ import annotations

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.group_limits import BOUNDED, assignment_interval_ms, check_group_limits, clamped


def test_the_defaults_are_within_their_bounds() -> None:
    check_group_limits(Config())


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"group.consumer.session.timeout.ms": "5000"},
            r"group\.consumer\.session\.timeout\.ms.*group\.consumer\.min\.session\.timeout\.ms = 6000",
        ),
        (
            {"group.consumer.session.timeout.ms": "70000"},
            r"group\.consumer\.session\.timeout\.ms.*group\.consumer\.max\.session\.timeout\.ms = 60000",
        ),
        (
            {"group.consumer.min.heartbeat.interval.ms": "4000"},
            r"group\.consumer\.min\.heartbeat.*group\.consumer\.heartbeat\.interval\.ms = 3000",
        ),
        (
            {"group.consumer.max.session.timeout.ms": "7000", "group.consumer.session.timeout.ms": "6000",
             "group.consumer.min.session.timeout.ms": "7001"},
            r"group\.consumer\.min\.session\.timeout\.ms.*group\.consumer\.max\.session\.timeout\.ms = 7000",
        ),
        ({"kawal.rebalance.interval.ms": "15001"}, r"group\.consumer\.max\.assignment\.interval\.ms"),
        ({"group.min.session.timeout.ms": "1800001"}, r"group\.max\.session\.timeout\.ms = 1800000"),
        (
            {"group.consumer.heartbeat.interval.ms": "12000"},
            r"group\.consumer\.session\.timeout\.ms.*must be greater than group\.consumer\.heartbeat",
        ),
    ],
)  # fmt: skip
def test_settings_at_odds_are_refused(settings: dict[str, str], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        config_of(settings)


def test_the_problem_is_told_of_the_key_that_was_set() -> None:
    with pytest.raises(ConfigError) as caught:
        config_of({"group.consumer.max.session.timeout.ms": "11999"})
    assert caught.value.name == "group.consumer.max.session.timeout.ms"


def test_either_name_sets_the_assignment_interval_and_ours_comes_first() -> None:
    for name in ("kawal.rebalance.interval.ms", "group.consumer.assignment.interval.ms"):
        config = config_of({name: "7"})
        assert config.kawal_rebalance_interval_ms == config.group_consumer_assignment_interval_ms == 7
    both = {"group.consumer.assignment.interval.ms": "7", "kawal.rebalance.interval.ms": "9"}
    assert config_of(both).group_consumer_assignment_interval_ms == 9
    assert assignment_interval_ms({}) is None


def test_what_was_set_under_other_bounds_is_moved_inside() -> None:
    config = Config()
    assert clamped(config, "session.timeout.ms", 1) == 6_000
    assert clamped(config, "session.timeout.ms", 7_000) == 7_000
    assert clamped(config, "heartbeat.interval.ms", 99_000) == 15_000
    assert clamped(config, "group.assignor", 5) == 5
    assert len(BOUNDED) == 3
