"""ApiVersions: v0-4.

Behaviour: lists the APIs of broker/handlers/__init__.py except Kawal's own, and nothing else.  A version that
is not served is answered in the v0 layout with UNSUPPORTED_VERSION and the same list, so that the client can
choose (KIP-511).  Features (broker/config/features.py) are reported with the level they run at.
Differences from Apache Kafka: only existing features are reported; their epoch is the version of the
catalogue.
Version notes: v1 throttle time; v3 flexible, client software name and version, features; v4 features whose
lowest level is 0 (left out below, because older Java clients cannot read them).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from broker.config.features import FEATURES, SHARE_GROUPS, SHARE_VERSION, level_of
from broker.loop.call import Call
from protocol.api_keys import PRIVATE_FROM, ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.api_versions import (
    ApiVersion,
    ApiVersionsRequest,
    ApiVersionsResponse,
    FinalizedFeatureKey,
    SupportedFeatureKey,
)

if TYPE_CHECKING:
    from broker.core import Broker

_SOFTWARE: Final = re.compile(r"[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?\Z")

LEVEL_0_SINCE: Final = 4
"""The version from which on clients can read features whose least level is 0."""

OF_SHARE_MEMBERS: Final = frozenset(
    {
        ApiKey.SHARE_GROUP_HEARTBEAT,
        ApiKey.SHARE_GROUP_DESCRIBE,
        ApiKey.SHARE_FETCH,
        ApiKey.SHARE_ACKNOWLEDGE,
    }
)
"""The APIs that are not listed while there are no share groups."""


def handle(broker: Broker, call: Call[ApiVersionsRequest]) -> ApiVersionsResponse:
    """List the APIs that are served."""
    request = call.request
    if call.version >= 3:
        name, version = request.client_software_name, request.client_software_version
        if not (_SOFTWARE.match(name) and _SOFTWARE.match(version)):
            if call.connection.login is not None:
                call.connection.login.versions_refused()
            return ApiVersionsResponse(error_code=ErrorCode.INVALID_REQUEST, api_keys=[])
        call.connection.identify(name, version)
    return ApiVersionsResponse(
        api_keys=advertised(broker),
        supported_features=[
            SupportedFeatureKey(name=name, min_version=least, max_version=level)
            for name, level, least in FEATURES.values()
            if least > 0 or call.version >= LEVEL_0_SINCE
        ],
        finalized_features_epoch=broker.meta.log.next_version,
        finalized_features=[
            FinalizedFeatureKey(name=name, max_version_level=level, min_version_level=level)
            for name in FEATURES
            if (level := level_of(name, broker.catalogue.feature_levels))
        ],
    )


def unsupported(broker: Broker) -> ApiVersionsResponse:
    """Return the answer, in the v0 layout, to a version of ApiVersions that is not served."""
    return ApiVersionsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, api_keys=advertised(broker))


def advertised(broker: Broker) -> list[ApiVersion]:
    """Return the rows of the answer, by key."""
    from broker.handlers import APIS, OF_NODES

    has_shares = level_of(SHARE_VERSION, broker.catalogue.feature_levels) >= SHARE_GROUPS
    return [
        ApiVersion(api_key=api.key, min_version=api.advertised_minimum, max_version=api.maximum)
        for api in sorted(APIS.values(), key=lambda api: api.key)
        if api.key < PRIVATE_FROM
        and api.key not in OF_NODES
        and (has_shares or api.key not in OF_SHARE_MEMBERS)
    ]
