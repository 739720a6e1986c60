"""IncrementalAlterConfigs through a whole broker: values that change, stay, or are refused."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from broker.config.loggers import Loggers
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.topics import create
from wal.memory_faults import failing

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)


class FakeLoggers(Loggers):
    """Two loggers that no module uses."""

    def __init__(self) -> None:
        self.set: dict[str, str | None] = {"root": "INFO", "kawal.broker": "INFO"}

    def levels(self) -> dict[str, str]:
        return {name: level or "INFO" for name, level in self.set.items()}

    def set_level(self, name: str, level: str | None) -> None:
        self.set[name] = level


def resource(kind: int, name: str, *lines: tuple[str, int, str | None]) -> AlterConfigsResource:
    return AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[AlterableConfig(name=key, config_operation=op, value=text) for key, op, text in lines],
    )


def alter(
    client: Client, *resources: AlterConfigsResource, validate_only: bool = False, version: int = 1
) -> list[tuple[int, str | None]]:
    request = IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only)
    answer = client.call(request, version)
    assert [(response.resource_type, response.resource_name) for response in answer.responses] == [
        (resource.resource_type, resource.resource_name) for resource in resources
    ]
    return [(response.error_code, response.error_message) for response in answer.responses]


def described(client: Client, kind: int, name: str, key: str) -> Any:
    asked = DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=[key])
    answer = client.call(DescribeConfigsRequest(resources=[asked], include_synonyms=True), 4)
    found = answer.results[0].configs
    return (found[0].value, found[0].config_source) if found else None


@pytest.mark.parametrize("version", [0, 1])
def test_a_topics_config_holds_at_once_and_after_a_restart(gateway: Gateway, version: int) -> None:
    client = gateway.client()
    create(client, "t")
    broker = gateway.broker
    before = broker.topics.settings(broker.find_topic("t")).retention_ms
    assert before == 604_800_000
    assert alter(client, resource(TOPIC, "t", ("retention.ms", SET, "5000")), version=version) == [(0, None)]
    assert broker.topics.settings(broker.find_topic("t")).retention_ms == 5000
    gateway.crash()
    broker = gateway.broker
    assert broker.topics.settings(broker.find_topic("t")).retention_ms == 5000
    client = gateway.client()
    assert described(client, TOPIC, "t", "retention.ms") == ("5000", 1)
    assert alter(client, resource(TOPIC, "t", ("retention.ms", DELETE, None))) == [(0, None)]
    assert described(client, TOPIC, "t", "retention.ms") == ("604800000", 5)


def test_lists_grow_from_what_holds(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    alter(client, resource(TOPIC, "t", ("cleanup.policy", APPEND, "compact")))
    assert described(client, TOPIC, "t", "cleanup.policy") == ("delete,compact", 1)
    alter(client, resource(TOPIC, "t", ("cleanup.policy", SUBTRACT, "delete")))
    assert described(client, TOPIC, "t", "cleanup.policy") == ("compact", 1)


def test_a_resource_changes_whole_or_not_at_all(client: Client) -> None:
    create(client, "t")
    lines = [("retention.ms", SET, "5000"), ("segment.bytes", SET, "1")]
    code, message = alter(client, resource(TOPIC, "t", *lines))[0]
    assert code == ErrorCode.INVALID_CONFIG
    assert message == "Invalid value 1 for configuration segment.bytes: Value must be at least 1048576"
    assert described(client, TOPIC, "t", "retention.ms") == ("604800000", 5)


def test_good_and_bad_resources_are_told_apart(client: Client) -> None:
    create(client, "t")
    answers = alter(
        client,
        resource(TOPIC, "nope", ("retention.ms", SET, "1")),
        resource(TOPIC, "t", ("retention.ms", SET, "7")),
        resource(TOPIC, "bad name!", ("retention.ms", SET, "1")),
        resource(METRICS, "m", ("interval.ms", SET, "1")),
        resource(99, "x"),
    )
    assert [code for code, _ in answers] == [3, 0, 17, 42, 42]
    assert answers[0][1] == "The topic 'nope' does not exist."
    assert answers[4][1] == "Unknown resource type 99"
    assert described(client, TOPIC, "t", "retention.ms") == ("7", 1)


def test_a_resource_named_twice_is_refused_each_time(client: Client) -> None:
    create(client, "t")
    twice = [resource(TOPIC, "t", ("retention.ms", SET, "1"))] * 2
    assert alter(client, *twice) == [(42, "Each resource must appear at most once.")] * 2
    assert described(client, TOPIC, "t", "retention.ms") == ("604800000", 5)


def test_validation_checks_and_changes_nothing(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    good, bad = ("retention.ms", SET, "1"), ("retention.ms", SET, "x")
    assert alter(client, resource(TOPIC, "t", good), validate_only=True) == [(0, None)]
    assert alter(client, resource(TOPIC, "t", bad), validate_only=True)[0][0] == 40
    assert alter(client, resource(GROUP, "g", ("no.such", SET, "1")), validate_only=True)[0][0] == 40
    assert described(client, TOPIC, "t", "retention.ms") == ("604800000", 5)
    assert gateway.broker.catalogue.group_configs == {}


def test_a_nodes_config_covers_that_of_all_nodes(gateway: Gateway, client: Client) -> None:
    key = "message.max.bytes"
    assert alter(client, resource(BROKER, "", (key, SET, "3000"))) == [(0, None)]
    assert described(client, BROKER, "1", key) == ("3000", 3)
    assert alter(client, resource(BROKER, "1", (key, SET, "2000"))) == [(0, None)]
    assert gateway.broker.config.message_max_bytes == 2000
    assert described(client, BROKER, "1", key) == ("2000", 2)
    assert described(client, BROKER, "", key) == ("3000", 3)
    gateway.crash()
    assert gateway.broker.config.message_max_bytes == 2000
    client = gateway.client()
    alter(client, resource(BROKER, "1", (key, DELETE, None)), resource(BROKER, "", (key, DELETE, None)))
    assert gateway.broker.config.message_max_bytes == 1_048_588
    assert described(client, BROKER, "", key) is None


def test_topics_follow_the_servers_defaults(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    broker = gateway.broker
    assert broker.topics.settings(broker.find_topic("t")).retention_ms == 604_800_000
    alter(client, resource(BROKER, "", ("log.retention.ms", SET, "9000")))
    assert broker.topics.settings(broker.find_topic("t")).retention_ms == 9000
    assert described(client, TOPIC, "t", "retention.ms") == ("9000", 3)


def test_the_logs_follow_the_servers_options(gateway: Gateway, client: Client) -> None:
    alter(client, resource(BROKER, "1", ("kawal.min.free.bytes", SET, str(2**60))))
    for vnode in gateway.broker.vnodes["default"]:
        assert vnode.log._state.options.min_free_bytes == 2**60
    gateway.crash()
    assert gateway.broker.meta.log._state.options.min_free_bytes == 2**60


@pytest.mark.parametrize(
    ("name", "line", "code", "message"),
    [
        ("2", ("message.max.bytes", SET, "1"), 42, "Unexpected broker id, expected 1, but received 2"),
        ("x", ("message.max.bytes", SET, "1"), 42, "Node id must be an integer, but it is: x"),
        ("1", ("num.partitions", SET, "1"), 42, r"Cannot update these configs dynamically: [num.partitions]"),
        ("1", ("message.max.bytes", SET, "x"), 42,
         "Invalid value x for configuration message.max.bytes: Not a number of type INT"),
        ("1", ("message.max.byte", SET, "1"), 40,
         "Unknown broker config name: message.max.byte; did you mean 'message.max.bytes'?"),
        ("1", ("message.max.bytes", APPEND, "1"), 40,
         "Config value append is not allowed for config key: message.max.bytes"),
        ("1", ("message.max.bytes", SET, None), 42, "Null value not supported for : message.max.bytes"),
        ("1", ("ssl.keystore.password", SET, "secret"), 42,
         "'ssl.keystore.password' protects a Kafka broker but nothing here, so it cannot be set"),
    ],
)  # fmt: skip
def test_what_a_broker_refuses(
    client: Client, name: str, line: tuple[str, int, str | None], code: int, message: str
) -> None:
    assert alter(client, resource(BROKER, name, line)) == [(code, message)]


def test_unsetting_what_is_not_set_succeeds(client: Client) -> None:
    create(client, "t")
    for kind, name in ((TOPIC, "t"), (BROKER, "1"), (BROKER, ""), (GROUP, "g")):
        assert alter(client, resource(kind, name, ("no.such", DELETE, None))) == [(0, None)]


def test_a_groups_config_is_kept(gateway: Gateway, client: Client) -> None:
    key = "consumer.session.timeout.ms"
    assert alter(client, resource(GROUP, "g", (key, SET, "50000"))) == [(0, None)]
    gateway.crash()
    client = gateway.client()
    assert described(client, GROUP, "g", key) == ("50000", 8)
    servers = str(gateway.broker.config.group_consumer_session_timeout_ms)
    assert described(client, GROUP, "other", key) == (servers, 5)
    alter(client, resource(GROUP, "g", (key, DELETE, None)))
    assert gateway.broker.catalogue.group_configs == {}


@pytest.mark.parametrize(
    ("name", "line", "code", "message"),
    [
        ("", ("consumer.session.timeout.ms", SET, "50000"), 42, "Default group resources are not allowed."),
        ("g", ("no.such", SET, "1"), 40, "Unknown group config name: no.such"),
        ("g", ("consumer.session.timeout.ms", APPEND, "1"), 40,
         "Can't APPEND to key consumer.session.timeout.ms because its type is not LIST."),
        ("g", ("consumer.session.timeout.ms", SET, "1"), 40,
         "consumer.session.timeout.ms must be greater than or equal to"
         " group.consumer.min.session.timeout.ms"),
    ],
)  # fmt: skip
def test_what_a_group_refuses(
    client: Client, name: str, line: tuple[str, int, str | None], code: int, message: str
) -> None:
    assert alter(client, resource(GROUP, name, line)) == [(code, message)]


def test_levels_of_loggers_change_together_or_not_at_all(gateway: Gateway, client: Client) -> None:
    loggers = gateway.broker.loggers = FakeLoggers()
    bad = resource(LOGGER, "1", ("kawal.broker", SET, "DEBUG"), ("root", SET, "LOUD"))
    assert alter(client, bad)[0][0] == ErrorCode.INVALID_CONFIG
    assert loggers.set["kawal.broker"] == "INFO"
    good = resource(LOGGER, "1", ("kawal.broker", SET, "DEBUG"), ("root", SET, "ERROR"))
    assert alter(client, good, validate_only=True) == [(0, None)]
    assert loggers.set["kawal.broker"] == "INFO"
    assert alter(client, good) == [(0, None)]
    assert described(client, LOGGER, "1", "kawal.broker") == ("DEBUG", 6)
    assert described(client, LOGGER, "1", "root") == ("ERROR", 6)
    assert alter(client, resource(LOGGER, "1", ("kawal.broker", DELETE, None))) == [(0, None)]
    assert loggers.set["kawal.broker"] is None


@pytest.mark.parametrize(
    ("name", "line", "message"),
    [
        ("1", ("root", APPEND, "INFO"), "APPEND operation is not allowed for the BROKER_LOGGER resource"),
        ("1", ("root", DELETE, None), "Removing the log level of the root logger is not allowed"),
        ("2", ("root", SET, "INFO"), "Unexpected node id. Expected 1, but received 2"),
        ("", ("root", SET, "INFO"), "Node id must be an integer, but it is: "),
    ],
)
def test_what_loggers_refuse(
    gateway: Gateway, client: Client, name: str, line: tuple[str, int, str | None], message: str
) -> None:
    gateway.broker.loggers = FakeLoggers()
    assert alter(client, resource(LOGGER, name, line)) == [(42, message)]


def test_a_change_that_the_disk_refuses_is_taken_back(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    gateway.disk.faults.append(failing("sync", errno.EIO))
    answers = alter(
        client,
        resource(TOPIC, "t", ("retention.ms", SET, "5")),
        resource(BROKER, "1", ("message.max.bytes", SET, "5")),
        resource(GROUP, "g", ("consumer.session.timeout.ms", SET, "50000")),
        resource(TOPIC, "nope"),
    )
    assert [code for code, _ in answers] == [56, 56, 56, 3]
    broker = gateway.broker
    assert broker.find_topic("t").configs == {}
    assert broker.config.message_max_bytes == 1_048_588
    assert broker.catalogue.group_configs == {}
