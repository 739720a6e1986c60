"""Changes of topics, and what a database's log tells of them."""

from __future__ import annotations

import json
from typing import Any

from protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from protocol.record_reader import Record
from tests.broker.gateway import Client, Gateway


def told(record: Record) -> Any:
    """Return the type and topic of a change, and the value of any other record."""
    if ("kawal.kind", b"meta") not in record.headers:
        return record.value
    content = json.loads(record.value or b"")
    assert record.key == content["topic"].encode()
    assert record.timestamp_ms == content["time"]
    return content["type"], content["topic"]


def alter(client: Client, name: str, key: str, value: str) -> None:
    config = AlterableConfig(name=key, config_operation=0, value=value)
    resource = AlterConfigsResource(resource_type=2, resource_name=name, configs=[config])
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    assert client.call(request, 1).responses[0].error_code == 0


def grow(client: Client, name: str, count: int) -> None:
    topic = CreatePartitionsTopic(name=name, count=count, assignments=None)
    request = CreatePartitionsRequest(topics=[topic], timeout_ms=1000, validate_only=False)
    assert client.call(request, 3).results[0].error_code == 0


def delete(gateway: Gateway, name: str) -> None:
    gateway.broker.delete_topic(gateway.broker.find_topic(name), gateway.now_ms)
    gateway.settle()
