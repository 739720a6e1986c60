"""Group configurations at work: what clients may set, which value is in effect, and how it is listed."""

from __future__ import annotations

import re

import pytest

from broker.config.config import config_of
from broker.config.config_keys import ConfigError, Value
from broker.config.config_layers import layered
from broker.config.group_configs import checked, described, group_key, value

LAYERS = layered(config_of({}))


def test_values_are_kept_in_kafkas_spelling() -> None:
    kept = checked({"consumer.session.timeout.ms": " 50000 ", "kawal.retention.important": "TRUE"}, LAYERS)
    assert kept == {"consumer.session.timeout.ms": "50000", "kawal.retention.important": "true"}


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"no.such": "1", "consumer.session.timeout.ms": "x"}, "Unknown group config name: no.such"),
        ({"consumer.session.timeout.m": "1"}, "did you mean 'consumer.session.timeout.ms'"),
        (
            {"consumer.session.timeout.ms": "0"},
            "Invalid value 0 for configuration consumer.session.timeout.ms: Value must be at least 1",
        ),
        (
            {"consumer.session.timeout.ms": "1"},
            "consumer.session.timeout.ms must be greater than or equal to"
            " group.consumer.min.session.timeout.ms",
        ),
        (
            {"streams.num.standby.replicas": "9"},
            "streams.num.standby.replicas must be less than or equal to group.streams.max.standby.replicas",
        ),
        (
            {"kawal.retention.important": "true", "kawal.retention.availability.ms": "5"},
            "cannot be combined with kawal.retention.important",
        ),
        ({"kawal.group.assignor": "me"}, "String must be one of: client, server"),
    ],
)
def test_what_is_refused_says_why(settings: dict[str, str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked(settings, LAYERS)
    assert re.search(re.escape(message), caught.value.for_client)


def test_bounds_are_those_that_hold_on_the_server_now() -> None:
    wider = layered(config_of({}), cluster={"group.consumer.assignment.interval.ms": "2000"})
    assert value("consumer.assignment.interval.ms", {}, wider) == 2000
    assert value("consumer.assignment.interval.ms", {"consumer.assignment.interval.ms": "5"}, wider) == 5


def test_what_the_server_gives_is_within_bounds() -> None:
    # Kafka's least session timeout is 45 s; here it fits the server's default, 12 s as in TDengine.
    assert LAYERS.current.group_consumer_session_timeout_ms == 12_000
    assert checked({"consumer.session.timeout.ms": "6000"}, LAYERS)
    with pytest.raises(ConfigError, match=r"or equal to group\.consumer\.min\.session\.timeout\.ms"):
        checked({"consumer.session.timeout.ms": "5999"}, LAYERS)


def test_bounds_follow_the_server() -> None:
    wider = layered(config_of({}), cluster={"group.consumer.min.session.timeout.ms": "100"})
    assert checked({"consumer.session.timeout.ms": "4000"}, wider)


class WideLayers:
    """A server whose bounds let a session be as short as a heartbeat interval."""

    def value(self, name: str) -> Value:
        return 0 if ".min." in name else 1_000_000 if ".max." in name else LAYERS.value(name)


@pytest.mark.parametrize(
    "settings",
    [
        {"consumer.session.timeout.ms": "3000"},
        {"share.heartbeat.interval.ms": "45000"},
        {"share.session.timeout.ms": "7", "share.heartbeat.interval.ms": "8"},
    ],
)
def test_a_session_outlasts_the_heartbeats(settings: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"must be greater than (consumer|share)\.heartbeat\.interval\.ms"):
        checked(settings, WideLayers())  # type: ignore[arg-type]  # has all that is asked
    assert checked({"streams.session.timeout.ms": "5001"}, WideLayers())  # type: ignore[arg-type]


def test_a_group_takes_what_the_server_gives_until_it_has_its_own() -> None:
    entries = {entry.key.name: entry for entry in described({"share.session.timeout.ms": "50000"}, LAYERS)}
    own = entries["share.session.timeout.ms"]
    assert (own.value, own.source) == ("50000", 8)
    assert [(synonym.name, synonym.value, int(synonym.source)) for synonym in own.synonyms] == [
        ("share.session.timeout.ms", "50000", 8),
        ("group.share.session.timeout.ms", "45000", 5),
    ]
    inherited = entries["consumer.assignment.interval.ms"]
    assert (inherited.value, inherited.source) == ("2000", 5)
    plain = entries["share.isolation.level"]
    assert [tuple(synonym) for synonym in plain.synonyms] == [
        ("share.isolation.level", "read_uncommitted", 5)
    ]


def test_a_default_changed_for_all_nodes_is_listed_as_such() -> None:
    layers = layered(config_of({}), cluster={"group.consumer.assignment.interval.ms": "2000"})
    name = "consumer.assignment.interval.ms"
    entry = next(entry for entry in described({}, layers) if entry.key.name == name)
    assert (entry.value, entry.source) == ("2000", 3)


def test_a_key_is_found_by_name() -> None:
    assert group_key("kawal.retention.important").default is False
