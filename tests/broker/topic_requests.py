"""Requests that make, change, show and delete topics, in short."""

from __future__ import annotations

from typing import Any

from protocol.messages.create_topics import CreateTopicsRequest
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.broker.gateway import Client
from tests.broker.kit import creation


def asked(client: Client, name: str, sql: str, partitions: int = -1, **configs: str) -> tuple[int, str]:
    """Return the answer to a creation."""
    request = CreateTopicsRequest(topics=[creation(name, partitions, kawal_sql=sql, **configs)])
    (answer,) = client.call(request, 7).topics
    return answer.error_code, answer.error_message or ""


def configs(client: Client, name: str) -> dict[str, Any]:
    resource = DescribeConfigsResource(resource_type=2, resource_name=name, configuration_keys=None)
    (answer,) = client.call(DescribeConfigsRequest(resources=[resource]), 4).results
    return {config.name: config for config in answer.configs}


def altered(client: Client, name: str, key: str, value: str | None) -> tuple[int, str]:
    config = AlterableConfig(name=key, config_operation=0 if value is not None else 1, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])
    (answer,) = client.call(
        IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1
    ).responses
    return answer.error_code, answer.error_message or ""


def deleted(client: Client, *names: str) -> dict[str, tuple[int, str]]:
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=1)
    answers = client.call(request, 6).responses
    return {answer.name: (answer.error_code, answer.error_message or "") for answer in answers}


def partition_count(client: Client, name: str) -> int:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
    (answer,) = client.call(request, 12).topics
    return len(answer.partitions)
