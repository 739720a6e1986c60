"""ListConfigResources: v0-1.

Behaviour: lists the names of resources with configurations: groups that were configured, this node's loggers,
this node, topics.  An unknown type answers UNSUPPORTED_VERSION.
Differences from Apache Kafka: client metrics are not collected, so none is listed.
Version notes: v0 lists client metrics only (KIP-1000); v1 resource types, none meaning all (KIP-1142).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from broker.catalogue.config_resources import ResourceType
from broker.loop.call import Call
from protocol.error_codes import ErrorCode
from protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

TYPES_SINCE = 1


def handle(broker: Broker, call: Call[ListConfigResourcesRequest]) -> ListConfigResourcesResponse:
    """List the resources of the requested types."""
    asked = set(call.request.resource_types) if call.version >= TYPES_SINCE else {ResourceType.CLIENT_METRICS}
    known = set(ResourceType)
    if asked - known:
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION, config_resources=[])
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in (
                ResourceType.GROUP,
                ResourceType.BROKER_LOGGER,
                ResourceType.BROKER,
                ResourceType.TOPIC,
            )
            if kind in (asked or known)
            for name in _names(broker, kind)
        ]
    )


def _names(broker: Broker, kind: ResourceType) -> Iterator[str]:
    if kind is ResourceType.GROUP:
        yield from broker.catalogue.group_configs
    elif kind is ResourceType.TOPIC:
        yield from (topic.name for topic in broker.catalogue.by_name.values() if topic.recorded)
    else:
        yield from map(str, broker.nodes.ids)
