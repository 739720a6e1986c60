"""The settings of groups that hold records, as retention takes them."""

from __future__ import annotations

from broker.config.config import Config
from broker.config.config_layers import layered
from broker.config.group_holds import NO_LIMIT, HoldLimits, hold_limits, topics_named

LAYERS = layered(Config())


def test_a_group_without_such_settings_holds_nothing() -> None:
    assert hold_limits({}, LAYERS) is None
    assert hold_limits({"kawal.retention.important": "false"}, LAYERS) is None
    assert hold_limits({"kawal.retention.availability.ms": "0"}, LAYERS) is None


def test_an_important_group_may_have_a_limit_of_size() -> None:
    own = {"kawal.retention.important": "true"}
    assert hold_limits(own, LAYERS) == HoldLimits(NO_LIMIT, NO_LIMIT)
    own["kawal.retention.important.max.bytes"] = "5000"
    assert hold_limits(own, LAYERS) == HoldLimits(5000, NO_LIMIT)


def test_availability_is_a_limit_of_age() -> None:
    assert hold_limits({"kawal.retention.availability.ms": "7"}, LAYERS) == HoldLimits(NO_LIMIT, 7)


def test_topics_may_be_named() -> None:
    assert topics_named({}, LAYERS) == ()
    assert topics_named({"kawal.retention.important.topics": "a,b"}, LAYERS) == ("a", "b")
