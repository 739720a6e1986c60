"""The gate of one of several nodes: what is the node's own is done there, what is the controller's there."""

from __future__ import annotations

from typing import Any

import pytest

from broker.catalogue.config_resources import ResourceType
from broker.config.acl_keys import STANDARD_AUTHORIZER
from broker.config.config_changes import Operation
from protocol.error_codes import ErrorCode
from protocol.messages import alter_configs, incremental_alter_configs
from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.kawal_databases import DatabaseAction, KawalDatabasesRequest
from tests.broker.cluster import Cluster
from tests.broker.guarded import ADMIN, ALICE
from tests.broker.kit import creation

TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
LOG = "kawal.broker"


def altering(*resources: tuple[int, str, str, str]) -> Any:
    made = [
        incremental_alter_configs.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                incremental_alter_configs.AlterableConfig(
                    name=key, config_operation=Operation.SET, value=value
                )
            ],
        )
        for kind, name, key, value in resources
    ]
    return incremental_alter_configs.IncrementalAlterConfigsRequest(resources=made, validate_only=False)


def alter(cluster: Cluster, number: int, *resources: tuple[int, str, str, str]) -> dict[tuple[int, str], int]:
    answer = cluster.call(cluster[number].client(), altering(*resources), 1)
    return {(item.resource_type, item.resource_name): item.error_code for item in answer.responses}


def with_topic(**settings: Any) -> Cluster:
    cluster = Cluster(2, **settings)
    request = CreateTopicsRequest(topics=[creation("t")], timeout_ms=1000)
    assert cluster.call(cluster[0].client(), request, 7).topics[0].error_code in (0, 29)
    return cluster


def test_a_request_about_both_kinds_is_answered_as_one() -> None:
    cluster = with_topic()
    codes = alter(
        cluster,
        1,
        (LOGGER, "1", LOG, "DEBUG"),
        (TOPIC, "t", "retention.ms", "1000"),
        (BROKER, "", "log.retention.ms", "5000"),
    )
    assert codes == {(LOGGER, "1"): 0, (TOPIC, "t"): 0, (BROKER, ""): 0}
    for node in cluster:
        assert node.broker.catalogue.by_name["t"].configs == {"retention.ms": "1000"}
        assert node.broker.config.log_retention_ms == 5000
    assert cluster[1].broker.loggers.levels()[LOG] == "DEBUG"


def test_levels_of_loggers_can_be_changed_while_the_controller_is_away() -> None:
    cluster = with_topic()
    cluster.kill(0)
    codes = alter(cluster, 1, (LOGGER, "1", LOG, "DEBUG"), (TOPIC, "t", "retention.ms", "1000"))
    assert codes == {(LOGGER, "1"): 0, (TOPIC, "t"): ErrorCode.NOT_CONTROLLER}


def test_settings_of_one_node_are_altered_by_that_node_and_count_there_alone() -> None:
    cluster = with_topic()
    assert alter(cluster, 1, (BROKER, "1", "log.retention.ms", "5000")) == {(BROKER, "1"): 0}
    assert [node.broker.config.log_retention_ms for node in cluster] == [None, 5000]
    assert alter(cluster, 1, (BROKER, "1", "log.retention.bytes", "7")) == {(BROKER, "1"): 0}
    assert cluster[1].broker.config.log_retention_ms == 5000
    asked = DescribeConfigsRequest(
        resources=[DescribeConfigsResource(resource_type=BROKER, resource_name="1", configuration_keys=None)]
    )
    (found,) = cluster.call(cluster[1].client(), asked, 4).results
    values = {config.name: config.value for config in found.configs}
    assert (values["log.retention.ms"], values["log.retention.bytes"]) == ("5000", "7")


@pytest.mark.parametrize(("asked", "named"), [(0, "1"), (1, "0"), (1, "2"), (1, "x"), (0, "7")])
def test_settings_of_another_node_are_refused_as_by_kafkas_brokers(asked: int, named: str) -> None:
    cluster = with_topic()
    codes = alter(cluster, asked, (BROKER, named, "log.retention.ms", "5000"))
    assert codes == {(BROKER, named): ErrorCode.INVALID_REQUEST}
    assert {node.broker.config.log_retention_ms for node in cluster} == {None}


def test_the_older_api_replaces_settings_through_another_node() -> None:
    cluster = with_topic()
    request = alter_configs.AlterConfigsRequest(
        resources=[
            alter_configs.AlterConfigsResource(
                resource_type=kind,
                resource_name=name,
                configs=[alter_configs.AlterableConfig(name=key, value="9000")],
            )
            for kind, name, key in ((TOPIC, "t", "retention.ms"), (BROKER, "1", "log.retention.ms"))
        ],
        validate_only=False,
    )
    answer = cluster.call(cluster[1].client(), request, 2)
    assert [item.error_code for item in answer.responses] == [0, 0]
    assert cluster[0].broker.catalogue.by_name["t"].configs == {"retention.ms": "9000"}
    assert [node.broker.config.log_retention_ms for node in cluster] == [None, 9000]


def test_who_may_alter_nothing_is_refused_both_parts() -> None:
    cluster = with_topic(authorizer_class_name=STANDARD_AUTHORIZER, super_users=ADMIN)
    client = cluster[1].client()
    client.connection.principal = ALICE
    request = altering((LOGGER, "1", LOG, "ERROR"), (TOPIC, "t", "retention.ms", "1000"))
    answer = cluster.call(client, request, 1)
    codes = {(item.resource_type, item.resource_name): item.error_code for item in answer.responses}
    assert codes == {
        (LOGGER, "1"): ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        (TOPIC, "t"): ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    }
    assert cluster[1].broker.loggers.levels()[LOG] != "ERROR"


def test_what_changes_nothing_is_answered_by_the_node_that_is_asked() -> None:
    cluster = with_topic()
    cluster.kill(0)
    request = KawalDatabasesRequest(action=DatabaseAction.DESCRIBE, databases=None)
    (found,) = cluster.call(cluster[1].client(), request, 0).databases
    assert (found.error_code, found.vnodes) == (ErrorCode.NONE, 4)
    assert [state.name for state in found.vnode_states] == ["default/vnode-1", "default/vnode-3"]


def test_another_node_passes_whatever_the_rules_say() -> None:
    cluster = Cluster(2, authorizer_class_name=STANDARD_AUTHORIZER, super_users=ADMIN)
    request = CreateTopicsRequest(topics=[creation("t")], timeout_ms=1000)
    assert cluster.ask(0, request, 7).topics[0].error_code == ErrorCode.NONE
    client = cluster[0].client()
    assert cluster.call(client, request, 7).topics[0].error_code == ErrorCode.TOPIC_AUTHORIZATION_FAILED
