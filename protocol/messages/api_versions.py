"""ApiVersions (18): the requests, and their versions, that a broker serves."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, String, message, struct, wire


@message(api=ApiKey.API_VERSIONS, versions="0-4", flexible="3+", hot=True)
class ApiVersionsRequest:
    """The first request on a connection, for what the broker serves.

    Source: KIP-35, KIP-511 (client names, and the answer to a request that is too new).
    """

    client_software_name: str = wire(String, "3+", default="", ignorable=True)
    client_software_version: str = wire(String, "3+", default="", ignorable=True)


@struct
class ApiVersion:
    """The versions in which one request is served."""

    api_key: int = wire(Int16)
    min_version: int = wire(Int16)
    max_version: int = wire(Int16)


@struct
class SupportedFeatureKey:
    """A feature and the levels that this broker could run."""

    name: str = wire(String)
    min_version: int = wire(Int16)
    max_version: int = wire(Int16)


@struct
class FinalizedFeatureKey:
    """A feature and the levels that the cluster has agreed on."""

    name: str = wire(String)
    max_version_level: int = wire(Int16)
    min_version_level: int = wire(Int16)


@message(api=ApiKey.API_VERSIONS, versions="0-4", flexible="3+", hot=True)
class ApiVersionsResponse:
    """The requests and features that the broker serves.

    Its header is always v0, and a request of an unknown version is answered in v0
    with UNSUPPORTED_VERSION (35).
    Source: KIP-35, KIP-584 (features), KIP-511; v4 lets a supported feature begin at 0 (KAFKA-17011).
    """

    error_code: int = wire(Int16, default=0)
    api_keys: list[ApiVersion] = wire(ArrayOf(ApiVersion))
    throttle_time_ms: int = wire(Int32, "1+", default=0, ignorable=True)
    supported_features: list[SupportedFeatureKey] = wire(
        ArrayOf(SupportedFeatureKey), "3+", tag=0, default=[], ignorable=True
    )
    finalized_features_epoch: int = wire(Int64, "3+", tag=1, default=-1, ignorable=True)  # -1: unknown
    finalized_features: list[FinalizedFeatureKey] = wire(
        ArrayOf(FinalizedFeatureKey), "3+", tag=2, default=[], ignorable=True
    )
    # always False without ZooKeeper
    zk_migration_ready: bool = wire(Bool, "3+", tag=3, default=False, ignorable=True)
