"""Groups that hold records back, by their configuration."""

from __future__ import annotations

from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from tests.broker.gateway import Client

INTERVAL_MS = 10_000


GROUP = 32


def alter(client: Client, group: str, **configs: str) -> list[int]:
    changes = [
        AlterableConfig(name=f"kawal.retention.{name.replace('_', '.')}", config_operation=0, value=value)
        for name, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=GROUP, resource_name=group, configs=changes)
    answer = client.call(IncrementalAlterConfigsRequest(resources=[resource], validate_only=False), 1)
    return [response.error_code for response in answer.responses]


def hold(client: Client, group: str = "g", **configs: str) -> None:
    assert alter(client, group, **configs) == [0]
