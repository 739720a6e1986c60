"""AlterConfigs (33): replace all configurations of resources."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, String, message, struct, wire


@struct
class AlterableConfig:
    """A configuration and its value."""

    name: str = wire(String)
    value: str | None = wire(String, nullable="0+")


@struct
class AlterConfigsResource:
    """A resource and all its configurations."""

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    configs: list[AlterableConfig] = wire(ArrayOf(AlterableConfig))


@message(api=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+", hot=True, elements_max=50_000)
class AlterConfigsRequest:
    """A request to set the named configurations of each resource, and drop all others.

    Source: KIP-133; superseded by IncrementalAlterConfigs.
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


@message(api=ApiKey.ALTER_CONFIGS, versions="0-2", flexible="2+", hot=True)
class AlterConfigsResponse:
    """The outcome for each resource.

    Source: KIP-133.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    responses: list[AlterConfigsResourceResponse] = wire(ArrayOf(AlterConfigsResourceResponse))
