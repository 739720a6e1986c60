"""The topics whose partitions may split, and the sentence for each that may not."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create, creation
from tests.broker.splits import SPEED, split, split_topic
from tests.broker.topic_requests import altered, asked

MODE = "kawal.partition.autosplit.mode"
SPEED_CONFIG: dict[str, Any] = {"kawal_partition_write_bytes_per_sec": str(SPEED)}


def refused(client: Client, name: str = "x", **configs: str) -> tuple[int, str]:
    """Return the answer to the creation of a topic whose partitions split."""
    settings = {"kawal_partition_autosplit_mode": "up", **SPEED_CONFIG, **configs}
    request = CreateTopicsRequest(topics=[creation(name, 1, **settings)])
    (answer,) = client.call(request, 7).topics
    return answer.error_code, answer.error_message or ""


CASES = {
    "speed": ({"kawal_partition_write_bytes_per_sec": "-1"}, "needs kawal.partition.write.bytes.per.sec"),
    "compaction": ({"cleanup_policy": "compact"}, "does not go with cleanup.policy=compact"),
    "columns": ({"kawal_columns": "a int"}, "does not go with kawal.columns"),
    "letters": ({"errors_deadletterqueue_group_enable": "true"}, "does not go with errors.deadletterqueue"),
    "streams": ({"kawal_allow_streams": "true"}, "does not go with kawal.allow.streams=true"),
    "one partition": (
        {"kawal_message_ids": "true", "kawal_nonpartitioned": "true"},
        "does not go with kawal.nonpartitioned=true",
    ),
    "mode": ({"kawal_partition_autosplit_mode": "down"}, "down"),
    "percent": ({"kawal_partition_autosplit_up_percent": "101"}, "101"),
    "window": ({"kawal_partition_autosplit_window_ms": "99"}, "99"),
    "active": ({"kawal_partition_autosplit_max_active": "0"}, "0"),
    "gate": ({"kawal_split_gate_max_wait_ms": "-2"}, "-2"),
}


@pytest.mark.parametrize("case", CASES)
def test_settings_that_do_not_go_together_are_refused_with_a_sentence(client: Client, case: str) -> None:
    configs, said = CASES[case]
    code, message = refused(client, **configs)
    assert code == ErrorCode.INVALID_CONFIG
    assert said in message


@pytest.mark.parametrize("name", ["app-store-changelog", "app-join-repartition"])
def test_topics_of_kafka_streams_are_told_by_their_names(client: Client, name: str) -> None:
    code, message = refused(client, name)
    assert code == ErrorCode.INVALID_CONFIG
    assert "Kafka Streams' own" in message


def test_a_view_has_no_partitions_of_its_own_to_split(client: Client) -> None:
    create(client, "t", kawal_columns="a int")
    code, _ = asked(client, "v", "SELECT a FROM t", kawal_partition_autosplit_mode="up", **SPEED_CONFIG)
    assert code == ErrorCode.INVALID_CONFIG
    assert split(client, 0, "t")[0] == ErrorCode.INVALID_REQUEST


def test_internal_topics_are_refused(gateway: Gateway) -> None:
    client = gateway.client()
    code, message = refused(client, "__consumer_offsets")
    assert code != 0
    assert message


def test_the_mode_goes_to_and_fro_but_never_back_to_disabled(client: Client) -> None:
    split_topic(client)
    assert altered(client, "t", MODE, "up") == (0, "")
    assert altered(client, "t", MODE, "paused") == (0, "")
    for value in ("disabled", None):
        code, message = altered(client, "t", MODE, value)
        assert code == ErrorCode.INVALID_CONFIG
        assert "cannot be disabled again" in message


def test_a_topic_that_is_made_so_lies_on_one_vnode_with_all_its_children(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client, partitions=3)
    for partition in (0, 1, 3):
        assert split(client, partition) == (0, "")
    assert len({gateway.partition("t", index).vnode for index in range(6)}) == 1
    gateway.restart()
    assert len({gateway.partition("t", index).vnode for index in range(6)}) == 1


def test_partitions_are_not_added_by_hand_where_they_split(client: Client) -> None:
    split_topic(client)
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=3, assignments=None)], timeout_ms=1, validate_only=False
    )
    (answer,) = client.call(request, 3).results
    assert answer.error_code == ErrorCode.INVALID_PARTITIONS
    assert "kawal topics split t --partition N" in (answer.error_message or "")


def test_a_topic_whose_partitions_do_not_split_is_not_split(client: Client) -> None:
    create(client, "t")
    code, message = split(client)
    assert code == ErrorCode.INVALID_REQUEST
    assert "set kawal.partition.autosplit.mode to up or paused" in message
