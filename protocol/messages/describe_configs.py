"""DescribeConfigs (32): read configurations."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int8, Int16, Int32, String, message, struct, wire


@struct
class DescribeConfigsResource:
    """A resource and the configurations of it to show."""

    resource_type: int = wire(Int8)  # 2: topic, 4: broker, 8: broker logger, 16: client metrics, 32: group
    resource_name: str = wire(String)
    configuration_keys: list[str] | None = wire(ArrayOf(String), nullable="0+")  # null: all


@message(api=ApiKey.DESCRIBE_CONFIGS, versions="1-4", flexible="4+", hot=True, elements_max=50_000)
class DescribeConfigsRequest:
    """A request for configurations of topics, brokers or groups.

    Source: KIP-133, KIP-226 (v1 synonyms), KIP-569 (v3 types and documentation).
    """

    resources: list[DescribeConfigsResource] = wire(ArrayOf(DescribeConfigsResource))
    include_synonyms: bool = wire(Bool, default=False)
    include_documentation: bool = wire(Bool, "3+", default=False)


@struct
class DescribeConfigsSynonym:
    """Another place that gives this configuration a value."""

    name: str = wire(String)
    value: str | None = wire(String, nullable="0+", default=None)
    source: int = wire(Int8)


@struct
class DescribeConfigsResourceResult:
    """One configuration."""

    name: str = wire(String)
    value: str | None = wire(String, nullable="0+", default=None)
    read_only: bool = wire(Bool)
    # 1: topic, 2 to 6: broker (dynamic, default dynamic, static), default, logger
    config_source: int = wire(Int8, default=-1)
    is_sensitive: bool = wire(Bool)
    synonyms: list[DescribeConfigsSynonym] = wire(ArrayOf(DescribeConfigsSynonym))
    # 1 to 9: bool, string, int, short, long, double, list, class, password
    config_type: int = wire(Int8, "3+", default=0, ignorable=True)
    documentation: str | None = wire(String, "3+", nullable="0+", default=None, ignorable=True)


@struct
class DescribeConfigsResult:
    """The configurations of one resource."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    configs: list[DescribeConfigsResourceResult] = wire(ArrayOf(DescribeConfigsResourceResult))


@message(api=ApiKey.DESCRIBE_CONFIGS, versions="1-4", flexible="4+", hot=True)
class DescribeConfigsResponse:
    """The configurations of each resource.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: list[DescribeConfigsResult] = wire(ArrayOf(DescribeConfigsResult))
