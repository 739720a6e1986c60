"""IncrementalAlterConfigs (44): change some configurations of resources."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, String, message, struct, wire


@struct
class AlterableConfig:
    """A configuration and what to do with it."""

    name: str = wire(String)
    config_operation: int = wire(Int8)  # 0: set, 1: delete, 2: append, 3: subtract
    value: str | None = wire(String, nullable="0+")


@struct
class AlterConfigsResource:
    """A resource and the changes to it."""

    resource_type: int = wire(Int8)  # 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group
    resource_name: str = wire(String)
    configs: list[AlterableConfig] = wire(ArrayOf(AlterableConfig))


@message(api=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions="0-1", flexible="1+", hot=True, elements_max=50_000)
class IncrementalAlterConfigsRequest:
    """A request to change the named configurations of each resource and leave the others as they are.

    Source: KIP-339.
    """

    resources: list[AlterConfigsResource] = wire(ArrayOf(AlterConfigsResource))
    validate_only: bool = wire(Bool)


@struct
class AlterConfigsResourceResponse:
    """The outcome for one resource."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)


@message(api=ApiKey.INCREMENTAL_ALTER_CONFIGS, versions="0-1", flexible="1+", hot=True)
class IncrementalAlterConfigsResponse:
    """The outcome for each resource.

    Source: KIP-339.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    responses: list[AlterConfigsResourceResponse] = wire(ArrayOf(AlterConfigsResourceResponse))
