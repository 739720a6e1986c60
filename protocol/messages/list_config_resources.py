"""ListConfigResources (74): the resources that have configurations."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@message(api=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesRequest:
    """A request for resources of some types; in v0, client metrics only.

    Source: KIP-1000, KIP-1142 (v1 types).
    """

    resource_types: list[int] = wire(ArrayOf(Int8), "1+", default=[])  # []: all


@struct
class ConfigResource:
    """A resource."""

    resource_name: str = wire(String)
    # 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group
    resource_type: int = wire(Int8, "1+", default=16, ignorable=True)


@message(api=ApiKey.LIST_CONFIG_RESOURCES, versions="0-1", flexible="0+")
class ListConfigResourcesResponse:
    """The resources.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    config_resources: list[ConfigResource] = wire(ArrayOf(ConfigResource))
