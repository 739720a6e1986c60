"""Features that several nodes do not have are refused with a sentence; one node has all of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from broker.catalogue.catalogue_records import GroupConfigs
from broker.catalogue.nodes import Nodes
from broker.config.config import config_of
from broker.config.group_keys import GROUP_KEYS
from broker.config.kawal_topic_keys import COLUMNS_KEY
from broker.config.queue_keys import MEMBER_RECORDS
from broker.config.several_nodes import (
    GROUPS,
    SPLITS,
    TOPICS,
    WORKERS,
    check,
    check_server,
)
from broker.start import open_broker
from protocol.error_codes import ErrorCode
from protocol.messages import alter_partition_reassignments as reassignments
from protocol.messages import incremental_alter_configs as configs
from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction, TopicItem
from tests.broker import share_requests
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway
from tests.broker.kit import creation
from wal.errors import StoreError

OTHER = {
    "kawal.partition.autosplit.mode": {
        "kawal.partition.autosplit.mode": "up",
        "kawal.partition.write.bytes.per.sec": "1000000",
    },
    "kawal.queue.max.records": {"kawal.queue.max.records": "10"},
    "kawal.routing": {"kawal.dedup": "seqno", "kawal.routing": "producer-bind"},
}
IN_GROUPS = {
    name: {"false": "true", "0": "100", "": "t"}[refusal.allowed] for name, refusal in GROUPS.items()
}
SERVERS: dict[str, Any] = {
    "kawal.remote.heartbeat.ms": 1_000,
}


def make(cluster: Cluster, number: int, name: str, **settings: str) -> Any:
    request = CreateTopicsRequest(topics=[creation(name, 4, **settings)], timeout_ms=1000)
    return cluster.call(cluster[number].client(), request, 7).topics[0]


def alter(cluster: Cluster, number: int, kind: int, name: str, settings: Mapping[str, str]) -> Any:
    lines = [
        configs.AlterableConfig(name=key, config_operation=0, value=value) for key, value in settings.items()
    ]
    item = configs.AlterConfigsResource(resource_type=kind, resource_name=name, configs=lines)
    request = configs.IncrementalAlterConfigsRequest(resources=[item], validate_only=False)
    return cluster.call(cluster[number].client(), request, 1).responses[0]


def test_every_setting_that_is_refused_is_tried_here() -> None:
    assert OTHER.keys() == TOPICS.keys()
    assert SERVERS.keys() == WORKERS.keys()
    assert GROUPS.keys() <= GROUP_KEYS.keys()


@pytest.mark.parametrize("refusals", [TOPICS, GROUPS], ids=["topics", "groups"])
def test_the_values_that_all_have_are_accepted(refusals: Mapping[str, Any]) -> None:
    check({name: refusal.allowed for name, refusal in refusals.items()} | {"another": "x"}, refusals)


@pytest.mark.parametrize("name", SERVERS)
def test_a_start_of_several_nodes_refuses_the_setting(name: str) -> None:
    settings = {name.replace(".", "_"): SERVERS[name]}
    with pytest.raises(StoreError, match=f"^{name} cannot be set with several workers: "):
        Cluster(2, **settings)


def test_nodes_of_several_machines_may_give_signs_of_life_as_each_has_a_standby() -> None:
    config = replace(config_of({}), kawal_remote_store="s3://bucket/p", kawal_remote_heartbeat_ms=1_000)
    check_server(config, 2, own_directory=True)


def test_workers_may_have_a_store_as_each_has_a_place_in_it() -> None:
    check_server(replace(config_of({}), kawal_remote_store="s3://bucket/p"), 2, own_directory=False)


@pytest.mark.parametrize("number", [0, 1])
@pytest.mark.parametrize("name", OTHER)
def test_a_topic_with_the_setting_is_not_made_nor_given_it(name: str, number: int) -> None:
    cluster = Cluster(2)
    made = make(cluster, number, "t", **OTHER[name])
    assert made.error_code == ErrorCode.INVALID_CONFIG
    assert "a cluster of several nodes does not have it" in made.error_message
    assert make(cluster, number, "t").error_code == ErrorCode.NONE
    assert alter(cluster, number, 2, "t", OTHER[name]).error_code == ErrorCode.INVALID_CONFIG
    assert cluster[0].broker.catalogue.by_name["t"].configs == {}


@pytest.mark.parametrize("name", IN_GROUPS)
def test_a_group_is_not_given_the_setting(name: str) -> None:
    cluster = Cluster(2)
    refused = alter(cluster, 1, 32, "g", {name: IN_GROUPS[name]})
    assert refused.error_code == ErrorCode.INVALID_CONFIG
    assert "a cluster of several nodes does not have it" in refused.error_message
    assert not cluster[0].broker.catalogue.group_configs


def test_a_partition_is_not_split_by_hand() -> None:
    cluster = Cluster(2)
    make(cluster, 0, "t")
    request = KawalTopicsRequest(action=TopicAction.SPLIT, topics=[TopicItem(name="t", partition=0)])
    for node in cluster:
        (found,) = cluster.call(node.client(), request, 0).topics
        assert (found.error_code, found.error_message) == (ErrorCode.POLICY_VIOLATION, SPLITS)


def test_a_topic_with_columns_does_not_grow() -> None:
    cluster = Cluster(2)
    made = make(cluster, 0, "t", **{COLUMNS_KEY.name: "a INT"})
    assert made.error_code == ErrorCode.NONE, made
    growth = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="t", count=6, assignments=None)],
        timeout_ms=1000,
        validate_only=False,
    )
    (found,) = cluster.call(cluster[1].client(), growth, 3).results
    assert found.error_code == ErrorCode.INVALID_REQUEST
    assert "does not grow on several nodes" in found.error_message


def test_a_partition_can_be_assigned_to_its_leader_alone() -> None:
    cluster = Cluster(2)
    make(cluster, 0, "t")
    for node in cluster:
        codes = []
        for leader in range(2):
            partitions = [
                reassignments.ReassignablePartition(partition_index=index, replicas=[leader])
                for index in range(4)
            ]
            topic = reassignments.ReassignableTopic(name="t", partitions=partitions)
            request = reassignments.AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=1000)
            (found,) = cluster.call(node.client(), request, 0).responses
            codes.append([item.error_code for item in found.partitions])
        refused = ErrorCode.INVALID_REPLICA_ASSIGNMENT
        assert [set(pair) for pair in zip(*codes, strict=True)] == [{ErrorCode.NONE, refused}] * 4


def start_with_two(gateway: Gateway) -> None:
    gateway.settle()
    open_broker(
        gateway.disk,
        gateway.config,
        random=Random(1),
        now_ms=gateway.now_ms,
        wall_ms=gateway.now_ms,
        nodes=Nodes(1, count=2),
    )


def test_what_one_node_has_made_keeps_several_from_starting() -> None:
    start_with_two(Gateway())
    gateway = Gateway()
    request = CreateTopicsRequest(
        topics=[creation("long", 4, **OTHER["kawal.queue.max.records"])], timeout_ms=1000
    )
    gateway.client().call(request, 7)
    with pytest.raises(StoreError, match=r"topic 'long' cannot be served by several nodes: .*not counted"):
        start_with_two(gateway)
    gateway = Gateway()
    gateway.broker.metadata_log.append(
        GroupConfigs(group="slow", configs={MEMBER_RECORDS: "5"}), gateway.now_ms
    )
    with pytest.raises(StoreError, match="group 'slow' cannot be served by several nodes"):
        start_with_two(gateway)


def test_one_node_has_all_of_it() -> None:
    gateway = Gateway()
    topics = [creation(f"t{number}", 4, **settings) for number, settings in enumerate(OTHER.values())]
    made = gateway.client().call(CreateTopicsRequest(topics=topics, timeout_ms=1000), 7).topics
    assert [topic.error_code for topic in made] == [ErrorCode.NONE] * len(OTHER)
    answer = gateway.client().call(share_requests.beating(), 1)
    assert answer.error_code != ErrorCode.UNSUPPORTED_VERSION


def test_the_manual_names_every_setting_that_is_refused() -> None:
    manual = (Path(__file__).parents[3] / "docs" / "workers.md").read_text()
    refused = {**WORKERS, **TOPICS, **GROUPS}
    assert [name for name in refused if f"`{name}`" not in manual] == []
