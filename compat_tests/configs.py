"""Changes of configs on the wire, for requests that no client library can send."""

from __future__ import annotations

from compat_tests.wire import RawClient
from protocol.messages import alter_configs, incremental_alter_configs

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = range(4)

EVERY_NODE = ""
"""The name of the BROKER resource that stands for all nodes."""

Line = tuple[str, int, str | None]
Told = tuple[int, str | None]


def incremental(
    raw: RawClient, *resources: tuple[int, str, list[Line]], validate_only: bool = False, version: int = 1
) -> list[Told]:
    """Send IncrementalAlterConfigs and return code and text for each resource."""
    asked = [
        incremental_alter_configs.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                incremental_alter_configs.AlterableConfig(name=key, config_operation=operation, value=text)
                for key, operation, text in lines
            ],
        )
        for kind, name, lines in resources
    ]
    request = incremental_alter_configs.IncrementalAlterConfigsRequest(
        resources=asked, validate_only=validate_only
    )
    return [
        (response.error_code, response.error_message) for response in raw.call(request, version).responses
    ]


def replacing(
    raw: RawClient, *resources: tuple[int, str, list[tuple[str, str | None]]], version: int = 2
) -> list[Told]:
    """Send AlterConfigs and return code and text for each resource."""
    asked = [
        alter_configs.AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[alter_configs.AlterableConfig(name=key, value=text) for key, text in lines],
        )
        for kind, name, lines in resources
    ]
    request = alter_configs.AlterConfigsRequest(resources=asked, validate_only=False)
    return [
        (response.error_code, response.error_message) for response in raw.call(request, version).responses
    ]
