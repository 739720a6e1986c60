"""DescribeConfigs: v1-4.

Behaviour: every config of a topic or of this node with its effective value, source, synonyms, type and
documentation; an empty list of keys means all of them, as null does (seen with Kafka 4.3.1).
Differences from Apache Kafka: broker loggers, client metrics and groups answer INVALID_REQUEST until they
exist.
Version notes: v1 synonyms (KIP-226); v3 types and documentation (KIP-569); v4 flexible.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.call import Call
from broker.config import Config
from broker.described_configs import Described
from broker.errors import RequestError
from broker.server_configs import described as described_server
from broker.topic_admin import check_name
from broker.topic_configs import described
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from broker.core import Broker

TOPIC, BROKER = 2, 4


def handle(broker: Broker, call: Call[DescribeConfigsRequest]) -> DescribeConfigsResponse:
    """Describe every resource on its own."""
    return DescribeConfigsResponse(
        results=[_describe(broker, call.request, resource) for resource in call.request.resources]
    )


def _describe(
    broker: Broker, request: DescribeConfigsRequest, resource: DescribeConfigsResource
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        resource_type=resource.resource_type, resource_name=resource.resource_name, configs=[]
    )
    wanted = set(resource.configuration_keys or ())
    try:
        result.configs = [
            _entry(entry, request, is_topic=resource.resource_type == TOPIC)
            for entry in _entries(broker, resource)
            if not wanted or entry.key.name in wanted
        ]
    except RequestError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _entries(broker: Broker, resource: DescribeConfigsResource) -> Iterator[Described]:
    if resource.resource_type == TOPIC:
        check_name(resource.resource_name)
        topic = broker.catalogue.find(resource.resource_name)
        if topic is None:
            raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        yield from described(topic.configs, broker.config)
    elif resource.resource_type == BROKER:
        if not resource.resource_name:
            return
        yield from described_server(_own_config(broker, resource.resource_name))
    else:
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Unsupported resource type: {resource.resource_type}")


def _own_config(broker: Broker, name: str) -> Config:
    """This node's configuration; the empty name means the cluster-wide defaults, of which there are none."""
    if name != str(broker.config.node_id):
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"Unexpected broker id, expected {broker.config.node_id} or empty string, but received {name}",
        )
    return broker.config


def _entry(
    entry: Described, request: DescribeConfigsRequest, *, is_topic: bool
) -> DescribeConfigsResourceResult:
    key = entry.key
    return DescribeConfigsResourceResult(
        name=key.name,
        value=None if key.sensitive else entry.value,
        read_only=not (entry.key.dynamic or is_topic),
        config_source=entry.source,
        is_sensitive=key.sensitive,
        synonyms=[
            DescribeConfigsSynonym(
                name=synonym.name, value=None if key.sensitive else synonym.value, source=synonym.source
            )
            for synonym in entry.synonyms
        ]
        if request.include_synonyms
        else [],
        config_type=key.type,
        documentation=key.doc if request.include_documentation else None,
    )
