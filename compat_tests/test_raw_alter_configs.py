"""Changes of configs on the wire: error codes and texts, for every kind of resource and operation."""

from __future__ import annotations

from typing import Any

import pytest

from compat_tests.broker import Kind
from compat_tests.configs import (
    APPEND,
    BROKER,
    DELETE,
    GROUP,
    LOGGER,
    METRICS,
    SET,
    SUBTRACT,
    TOPIC,
    Line,
    Told,
    incremental,
    replacing,
)
from compat_tests.conftest import MakeTopic
from compat_tests.wire import RawClient


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("retention.ms", SET, "5000000"), (0, None)),
        (("retention.ms", DELETE, "ignored"), (0, None)),
        (("no.such.key", DELETE, None), (0, None)),
        (("cleanup.policy", SET, ""), (0, None)),
        (("cleanup.policy", SUBTRACT, "compact"), (0, None)),
        (
            ("retention.ms", SET, "soon"),
            (40, "Invalid value soon for configuration retention.ms: Not a number of type LONG"),
        ),
        (
            ("retention.ms", SET, "-5"),
            (40, "Invalid value -5 for configuration retention.ms: Value must be at least -1"),
        ),
        (
            ("min.cleanable.dirty.ratio", SET, "2"),
            (
                40,
                "Invalid value 2.0 for configuration min.cleanable.dirty.ratio: Value must be no more than 1",
            ),
        ),
        (
            ("preallocate", SET, "maybe"),
            (
                40,
                "Invalid value maybe for configuration preallocate:"
                " Expected value to be either true or false",
            ),
        ),
        (
            ("cleanup.policy", APPEND, "shred"),
            (
                40,
                "Invalid value shred for configuration cleanup.policy:"
                " String must be one of: compact, delete",
            ),
        ),
        (
            ("cleanup.policy", SET, "delete,,compact"),
            (40, "Configuration 'cleanup.policy' values must not be empty."),
        ),
        (("retention.ms", SET, None), (42, "Null value not supported for : retention.ms")),
        (
            ("retention.ms", APPEND, "4"),
            (40, "Can't APPEND to key retention.ms because its type is not LIST."),
        ),
        (
            ("retention.ms", SUBTRACT, "4"),
            (40, "Can't SUBTRACT to key retention.ms because its type is not LIST."),
        ),
        (("xyzzy", SET, "4"), (40, "Unknown topic config name: xyzzy")),
    ],
)
def test_what_becomes_of_one_topic_config(
    raw: RawClient, make_topic: MakeTopic, line: Line, told: Told
) -> None:
    assert incremental(raw, (TOPIC, make_topic(), [line])) == [told]


@pytest.mark.parametrize("version", [0, 1])
def test_a_topic_takes_all_lines_or_none(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic()
    conflict: list[Line] = [("min.compaction.lag.ms", SET, "100"), ("max.compaction.lag.ms", SET, "10")]
    assert incremental(raw, (TOPIC, topic, conflict), version=version) == [
        (40, "conflict topic config setting min.compaction.lag.ms (100) > max.compaction.lag.ms (10)")
    ]
    assert incremental(raw, (TOPIC, topic, conflict[:1]), version=version) == [(0, None)]
    twice: list[Line] = [("retention.ms", SET, "1"), ("retention.ms", DELETE, None)]
    assert incremental(raw, (TOPIC, topic, twice), version=version) == [
        (42, "Error due to duplicate config keys")
    ]
    assert incremental(raw, (TOPIC, topic, []), version=version) == [(0, None)]


def test_a_topic_that_is_not_there_is_told_last(raw: RawClient) -> None:
    assert incremental(
        raw,
        (TOPIC, "never-made", [("retention.ms", SET, "1")]),
        (TOPIC, "never-made-either", [("xyzzy", SET, "1")]),
        (TOPIC, "", [("retention.ms", SET, "1")]),
    ) == [
        (3, "The topic 'never-made' does not exist."),
        (40, "Unknown topic config name: xyzzy"),
        (42, "Default topic resources are not allowed."),
    ]


def test_a_resource_given_twice_is_refused_each_time(raw: RawClient, make_topic: MakeTopic) -> None:
    one: tuple[int, str, list[Line]] = (TOPIC, make_topic(), [("retention.ms", SET, "1000000")])
    assert incremental(raw, one, one) == [(42, "Each resource must appear at most once.")] * 2


@pytest.mark.parametrize("kind", [0, 1, 3, 99])
def test_unknown_kinds_of_resources_are_refused(raw: RawClient, kind: int) -> None:
    assert incremental(raw, (kind, "x", [("a", SET, "b")])) == [(42, f"Unknown resource type {kind}")]


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("2", ("message.max.bytes", SET, "1"), (42, "Unexpected broker id, expected 1, but received 2")),
        ("x", ("message.max.bytes", SET, "1"), (42, "Node id must be an integer, but it is: x")),
        (
            "1",
            ("num.partitions", SET, "1"),
            (42, "Cannot update these configs dynamically: [num.partitions]"),
        ),
        ("", ("num.partitions", SET, "1"), (42, "Cannot update these configs dynamically: [num.partitions]")),
        ("1", ("num.partitions", DELETE, None), (0, None)),
        (
            "1",
            ("message.max.bytes", SET, "soon"),
            (42, "Invalid value soon for configuration message.max.bytes: Not a number of type INT"),
        ),
        (
            "1",
            ("message.max.bytes", APPEND, "1"),
            (40, "Config value append is not allowed for config key: message.max.bytes"),
        ),
        ("1", ("message.max.bytes", SET, None), (42, "Null value not supported for : message.max.bytes")),
        ("1", ("message.max.bytes", 9, "1"), (42, "Unknown operations type 9")),
    ],
)
def test_what_a_broker_refuses(raw: RawClient, name: str, line: Line, told: Told) -> None:
    assert incremental(raw, (BROKER, name, [line])) == [told]


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        ("", ("consumer.session.timeout.ms", SET, "50000"), (42, "Default group resources are not allowed.")),
        ("g", ("no.such", SET, "1"), (40, "Unknown group config name: no.such")),
        ("g", ("no.such", DELETE, None), (0, None)),
        (
            "g",
            ("consumer.session.timeout.ms", APPEND, "1"),
            (40, "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST."),
        ),
        (
            "g",
            ("consumer.heartbeat.interval.ms", SET, "1"),
            (
                40,
                "consumer.heartbeat.interval.ms must be greater than or equal to"
                " group.consumer.min.heartbeat.interval.ms",
            ),
        ),
        (
            "g",
            ("streams.num.standby.replicas", SET, "9"),
            (
                40,
                "streams.num.standby.replicas must be less than or equal to"
                " group.streams.max.standby.replicas",
            ),
        ),
    ],
)
def test_what_a_group_refuses(raw: RawClient, name: str, line: Line, told: Told) -> None:
    assert incremental(raw, (GROUP, name, [line])) == [told]


@pytest.mark.parametrize(
    ("name", "line", "told"),
    [
        (
            "1",
            ("root", APPEND, "INFO"),
            (42, "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        ),
        ("1", ("root", DELETE, None), (42, "Removing the log level of the root logger is not allowed")),
        ("1", ("no.such.logger", SET, "INFO"), (40, "Logger no.such.logger does not exist!")),
        (
            "1",
            ("root", SET, "LOUD"),
            (
                40,
                "Cannot set the log level of root to LOUD as it is not a supported log level."
                " Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN",
            ),
        ),
        ("2", ("root", SET, "INFO"), (42, "Unexpected node id. Expected 1, but received 2")),
        ("", ("root", SET, "INFO"), (42, "Node id must be an integer, but it is: ")),
    ],
)
def test_what_loggers_refuse(raw: RawClient, name: str, line: Line, told: Told) -> None:
    assert incremental(raw, (LOGGER, name, [line])) == [told]


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_old_call_judges_each_resource(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    told: list[Any] = replacing(
        raw,
        (TOPIC, make_topic(), [("retention.ms", "1000000")]),
        (TOPIC, "never-made", [("xyzzy", "1")]),
        (TOPIC, "never-made-either", []),
        (BROKER, "1", [("num.partitions", "3")]),
        (LOGGER, "1", [("root", "INFO")]),
        (GROUP, "", []),
        version=version,
    )
    assert told == [
        (0, None),
        (40, "Unknown topic config name: xyzzy"),
        (3, "The topic 'never-made-either' does not exist."),
        (42, "Cannot update these configs dynamically: [num.partitions]"),
        (42, "Unknown resource type 8"),
        (42, "Default group resources are not allowed."),
    ]


def test_the_old_call_needs_every_key_once_and_with_a_value(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert replacing(raw, (TOPIC, topic, [("retention.ms", "1"), ("retention.ms", "1")])) == [
        (42, "Error due to duplicate config keys")
    ]
    assert replacing(raw, (TOPIC, topic, [("retention.ms", None)])) == [
        (42, "Null value not supported for : retention.ms")
    ]


@pytest.mark.only_kawal(reason="Kafka 4.3.1 never answers a resource given twice")
def test_the_old_call_refuses_a_resource_given_twice(raw: RawClient, make_topic: MakeTopic) -> None:
    one: tuple[int, str, list[tuple[str, str | None]]] = (TOPIC, make_topic(), [])
    assert replacing(raw, one, one) == [(42, "Each resource must appear at most once.")] * 2


@pytest.mark.differs(reason="a misspelt name should not go unnoticed")
def test_an_unknown_broker_config_names_the_nearest(raw: RawClient, broker_kind: Kind) -> None:
    told = incremental(raw, (BROKER, "1", [("message.max.byte", SET, "1")]), validate_only=True)
    hint = "Unknown broker config name: message.max.byte; did you mean 'message.max.bytes'?"
    assert told == [(0, None) if broker_kind == "kafka" else (40, hint)]


@pytest.mark.differs(reason="client metrics are not collected, so a subscription would never be served")
def test_client_metrics_cannot_be_configured(raw: RawClient, broker_kind: Kind) -> None:
    told = incremental(raw, (METRICS, "m", [("interval.ms", SET, "1000")]), validate_only=True)
    assert told[0][0] == (0 if broker_kind == "kafka" else 42)


@pytest.mark.differs(reason="Kafka answers -1 without a text; it is the request that is wrong")
def test_an_unknown_operation_is_a_bad_request(
    raw: RawClient, make_topic: MakeTopic, broker_kind: Kind
) -> None:
    told = incremental(raw, (TOPIC, make_topic(), [("retention.ms", 9, "1")]))
    assert told == [(-1, None) if broker_kind == "kafka" else (42, "Unknown operations type 9")]
