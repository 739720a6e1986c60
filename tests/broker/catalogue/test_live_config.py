"""One owner of the configuration: clients' changes reach all code, and lost ones are undone."""

from __future__ import annotations

from broker.catalogue.catalogue_records import (
    BrokerConfigs,
    GroupConfigs,
    TopicCreated,
    decode_record,
    encode_record,
)
from broker.catalogue.live_config import CLUSTER, LiveConfig
from broker.catalogue.topics import Catalogue
from broker.config.config import Config, config_of

STATIC = config_of({"node.id": 7, "message.max.bytes": 5000})


def change(broker_id: str, **configs: str) -> BrokerConfigs:
    return BrokerConfigs(
        broker_id=broker_id, configs={name.replace("_", "."): text for name, text in configs.items()}
    )


def test_changes_are_seen_at_once_and_told() -> None:
    catalogue, told = Catalogue(), list[Config]()
    live = LiveConfig(STATIC, catalogue, changed=told.append)
    catalogue.replay(change(CLUSTER, message_max_bytes="6000"))
    assert live.current.message_max_bytes == 6000
    catalogue.replay(change("7", message_max_bytes="7000"))
    assert live.current.message_max_bytes == 7000
    catalogue.replay(change("7"))
    assert live.current.message_max_bytes == 6000
    assert [config.message_max_bytes for config in told] == [6000, 7000, 6000]


def test_another_part_of_the_operator_s_is_looked_at_with_what_clients_have_set() -> None:
    catalogue = Catalogue()
    live = LiveConfig(STATIC, catalogue)
    catalogue.replay(change("7", message_max_bytes="7000"))
    looked = live.with_static(config_of({"node.id": 7, "message.max.bytes": 5, "log.retention.ms": 9}))
    assert (looked.message_max_bytes, looked.log_retention_ms) == (7000, 9)
    assert live.current.log_retention_ms is None


def test_what_was_recorded_before_the_start_holds() -> None:
    catalogue = Catalogue()
    catalogue.replay(change("7", message_max_bytes="7000"))
    catalogue.replay(change("8", message_max_bytes="8000"))
    assert LiveConfig(STATIC, catalogue).current.message_max_bytes == 7000


def test_topics_forget_the_settings_they_derived() -> None:
    catalogue = Catalogue()
    catalogue.replay(
        TopicCreated(
            name="t",
            topic_id="0" * 31 + "1",
            database="default",
            first_stream=1,
            partition_count=1,
            first_vnode=0,
            created_ms=0,
        )
    )
    LiveConfig(STATIC, catalogue)
    topic = catalogue.by_name["t"]
    topic.settings = object()  # type: ignore[assignment]
    catalogue.replay(change(CLUSTER, log_retention_ms="5"))
    assert topic.settings is None


def test_a_change_that_is_lost_is_taken_back() -> None:
    catalogue = Catalogue()
    live = LiveConfig(STATIC, catalogue)
    planned = catalogue.plan(change(CLUSTER, message_max_bytes="6000"))
    assert live.current.message_max_bytes == 6000
    planned.undo()
    assert live.current.message_max_bytes == 5000
    assert catalogue.broker_configs == {}


def test_a_snapshot_has_the_settings_of_nodes_and_groups() -> None:
    catalogue, copy = Catalogue(), Catalogue()
    for record in (
        change(CLUSTER, log_retention_ms="5"),
        change("7", message_max_bytes="6"),
        GroupConfigs(group="g", configs={"kawal.retention.important": "true"}),
        GroupConfigs(group="gone", configs={"kawal.retention.important": "true"}),
        GroupConfigs(group="gone", configs={}),
    ):
        catalogue.replay(decode_record(encode_record(record)))
    for kept in catalogue.snapshot():
        copy.replay(kept)
    assert copy.broker_configs == {"": {"log.retention.ms": "5"}, "7": {"message.max.bytes": "6"}}
    assert copy.group_configs == {"g": {"kawal.retention.important": "true"}}
