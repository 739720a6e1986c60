"""Altering and describing configs with clients: a change applies at once, is shown, outlasts a restart."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from kafka import KafkaAdminClient
from kafka.admin import AlterConfigOp
from kafka.admin import ConfigResource as PythonConfigResource

from compat_tests.broker import Broker
from compat_tests.configs import BROKER, EVERY_NODE, Line, incremental
from compat_tests.confluent import make_producer, produce
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.test_broker_settings import delivery_error
from compat_tests.topics import create_topic, wait_until_all_is_served
from compat_tests.waiting import eventually
from compat_tests.wire import raw_client

SET, DELETE = AlterConfigOpType.SET, AlterConfigOpType.DELETE
APPEND, SUBTRACT = AlterConfigOpType.APPEND, AlterConfigOpType.SUBTRACT

DYNAMIC_TOPIC, DYNAMIC_BROKER, DYNAMIC_DEFAULT, DEFAULT = 1, 2, 3, 5


@pytest.fixture(scope="module")
def admin(broker: Broker) -> Any:
    return AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})


@pytest.fixture(scope="module")
def python_admin(broker: Broker) -> Iterator[Any]:
    made = KafkaAdminClient(bootstrap_servers=broker.bootstrap)
    yield made
    made.close()


def alter(
    admin: Any, kind: ResourceType, name: str, *lines: tuple[str, AlterConfigOpType, str], **options: Any
) -> None:
    """Alter the configs of one resource with IncrementalAlterConfigs."""
    entries = [ConfigEntry(key, text, incremental_operation=operation) for key, operation, text in lines]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin.incremental_alter_configs([resource], **options)[resource].result(60)


def described(admin: Any, kind: ResourceType, name: str, key: str) -> tuple[Any, int] | None:
    """Return the value and source of one config."""
    resource = ConfigResource(kind, name)
    entry = admin.describe_configs([resource])[resource].result(60).get(key)
    return None if entry is None else (entry.value, entry.source)


def wait_for(admin: Any, kind: ResourceType, name: str, key: str, expected: tuple[str, int] | None) -> None:
    """Wait until a config is shown so: Kafka's broker learns of a change a moment after its answer."""
    eventually(
        lambda: described(admin, kind, name, key) == expected, waiting_for=f"{key} of {name} to be {expected}"
    )


def test_topic_configs_change_by_operation(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    topics = ResourceType.TOPIC
    alter(admin, topics, topic, ("retention.ms", SET, "1000000"), ("cleanup.policy", APPEND, "compact"))
    wait_for(admin, topics, topic, "retention.ms", ("1000000", DYNAMIC_TOPIC))
    wait_for(admin, topics, topic, "cleanup.policy", ("delete,compact", DYNAMIC_TOPIC))
    alter(admin, topics, topic, ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, ""))
    wait_for(admin, topics, topic, "cleanup.policy", ("compact", DYNAMIC_TOPIC))
    wait_for(admin, topics, topic, "retention.ms", ("604800000", DEFAULT))


def test_a_smaller_message_size_holds_at_once(admin: Any, broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    producer = make_producer(broker, message_timeout_ms=30_000)
    assert delivery_error(producer, topic, b"x" * 7_000) == 0
    alter(admin, ResourceType.TOPIC, topic, ("max.message.bytes", SET, "6000"))
    wait_for(admin, ResourceType.TOPIC, topic, "max.message.bytes", ("6000", DYNAMIC_TOPIC))
    assert delivery_error(producer, topic, b"x" * 7_000) == KafkaError.MSG_SIZE_TOO_LARGE
    assert delivery_error(producer, topic, b"x" * 5_000) == 0
    alter(admin, ResourceType.TOPIC, topic, ("max.message.bytes", DELETE, ""))
    wait_for(admin, ResourceType.TOPIC, topic, "max.message.bytes", ("1048588", DEFAULT))
    assert delivery_error(producer, topic, b"x" * 7_000) == 0


def test_the_old_call_replaces_everything(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic(retention_ms="1000000", segment_ms="2000000")
    resource = ConfigResource(ResourceType.TOPIC, topic, set_config={"retention.ms": "3000000"})
    with pytest.warns(DeprecationWarning, match="Use incremental_alter_configs"):
        admin.alter_configs([resource])[resource].result(60)
    wait_for(admin, ResourceType.TOPIC, topic, "retention.ms", ("3000000", DYNAMIC_TOPIC))
    wait_for(admin, ResourceType.TOPIC, topic, "segment.ms", ("604800000", DEFAULT))


def test_validation_changes_nothing(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    alter(admin, ResourceType.TOPIC, topic, ("retention.ms", SET, "1000000"), validate_only=True)
    assert described(admin, ResourceType.TOPIC, topic, "retention.ms") == ("604800000", DEFAULT)
    with pytest.raises(KafkaException, match="Not a number of type LONG"):
        alter(admin, ResourceType.TOPIC, topic, ("retention.ms", SET, "soon"), validate_only=True)


def test_good_and_bad_topics_in_one_request(admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()
    entries = [ConfigEntry("retention.ms", "1000000", incremental_operation=SET)]
    resources = [
        ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
        for name in (topic, "never-made", "bad name!")
    ]
    futures = admin.incremental_alter_configs(resources)
    codes = {}
    for resource in resources:
        error = futures[resource].exception(60)
        codes[resource.name] = error.args[0].code() if error else 0
    assert codes == {
        topic: 0,
        "never-made": KafkaError.UNKNOWN_TOPIC_OR_PART,
        "bad name!": KafkaError.TOPIC_EXCEPTION,
    }


def test_kafka_python_alters_resets_and_filters(python_admin: Any, make_topic: MakeTopic) -> None:
    topic = make_topic()

    def modified() -> dict[str, str]:
        found = python_admin.describe_configs([PythonConfigResource("TOPIC", topic)])["topic"][topic]
        return {
            name: entry["value"]
            for name, entry in found.items()
            if entry["config_source"] == "DYNAMIC_TOPIC_CONFIG"
        }

    wanted = PythonConfigResource(
        "TOPIC", topic, {"retention.ms": "1000000", "cleanup.policy": (AlterConfigOp.APPEND, "compact")}
    )
    python_admin.alter_configs([wanted])
    expected = {"retention.ms": "1000000", "cleanup.policy": "delete,compact"}
    eventually(lambda: modified() == expected, waiting_for="the new configs")
    python_admin.reset_configs([PythonConfigResource("TOPIC", topic, ["retention.ms", "cleanup.policy"])])
    eventually(lambda: modified() == {}, waiting_for="no configs")
    refused = python_admin.alter_configs([PythonConfigResource("TOPIC", topic, {"retention.ms": "soon"})])
    assert "InvalidConfigurationError" in refused["topic"][topic]


def test_group_configs_are_kept_for_groups_that_do_not_exist(python_admin: Any, topic: str) -> None:
    def session_timeout() -> tuple[str, str]:
        found = python_admin.describe_configs([PythonConfigResource("GROUP", topic)], config_filter="all")
        entry = found["group"][topic]["consumer.session.timeout.ms"]
        return entry["value"], entry["config_source"]

    inherited = session_timeout()[0]
    python_admin.alter_configs(
        [PythonConfigResource("GROUP", topic, {"consumer.session.timeout.ms": "50000"})]
    )
    eventually(lambda: session_timeout()[0] == "50000", waiting_for="the new session timeout")
    listed = python_admin.list_config_resources(["GROUP"])
    assert topic in next(iter(listed.values()))
    refused = python_admin.alter_configs(
        [PythonConfigResource("GROUP", topic, {"consumer.session.timeout.ms": "1"})]
    )
    assert "InvalidConfigurationError" in refused["group"][topic]
    python_admin.reset_configs([PythonConfigResource("GROUP", topic, ["consumer.session.timeout.ms"])])
    eventually(lambda: session_timeout()[0] == inherited, waiting_for="the server's session timeout")


def test_topics_follow_what_the_server_is_told(start_broker: StartBroker) -> None:
    broker = start_broker()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    create_topic(broker, "follows")
    create_topic(broker, "insists", configs={"max.message.bytes": "20000"})
    with raw_client(broker) as raw:
        assert incremental(raw, (BROKER, EVERY_NODE, [("message.max.bytes", 0, "6000")])) == [(0, None)]
    wait_for(admin, ResourceType.TOPIC, "follows", "max.message.bytes", ("6000", DYNAMIC_DEFAULT))
    wait_for(admin, ResourceType.TOPIC, "insists", "max.message.bytes", ("20000", DYNAMIC_TOPIC))
    producer = make_producer(broker, message_timeout_ms=30_000)
    assert delivery_error(producer, "follows", b"x" * 7_000) == KafkaError.MSG_SIZE_TOO_LARGE
    assert delivery_error(producer, "insists", b"x" * 7_000) == 0
    alter(admin, ResourceType.BROKER, "1", ("message.max.bytes", SET, "9000"))
    wait_for(admin, ResourceType.TOPIC, "follows", "max.message.bytes", ("9000", DYNAMIC_BROKER))
    assert delivery_error(producer, "follows", b"x" * 7_000) == 0


def test_everything_set_holds_after_a_kill(start_broker: StartBroker) -> None:
    broker = start_broker()
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 2})
    create_topic(broker, "kept")
    settings = [
        (ResourceType.TOPIC, "kept", "retention.ms", "1000000", DYNAMIC_TOPIC),
        (ResourceType.BROKER, "1", "log.retention.ms", "700000000", DYNAMIC_BROKER),
    ]
    for kind, name, key, text, _ in settings:
        alter(admin, kind, name, (key, SET, text))
    with raw_client(broker) as raw:
        lines: list[Line] = [("log.retention.bytes", 0, "900000000")]
        assert incremental(raw, (BROKER, EVERY_NODE, lines)) == [(0, None)]
    broker.kill()
    broker.restart()
    wait_until_all_is_served(broker)
    for kind, name, key, text, source in settings:
        wait_for(admin, kind, name, key, (text, source))
    wait_for(admin, ResourceType.BROKER, "1", "log.retention.bytes", ("900000000", DYNAMIC_DEFAULT))
    assert produce(make_producer(broker), "kept", [b"v"]) == [0]
