"""DescribeCluster: v0-2.

Behaviour: all nodes that are there; the first one is the controller.
Differences from Apache Kafka: Kafka names any broker as the controller.  The endpoint type "controllers"
answers MISMATCHED_ENDPOINT_TYPE, as a Kafka broker does.
Version notes: v1 endpoint type (KIP-919); v2 fenced brokers (nodes that are away).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.security.acls import CLUSTER_NAME, ResourceType
from broker.security.authorized_operations import CLUSTER_OPERATIONS
from protocol.error_codes import ErrorCode
from protocol.messages.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

BROKERS, CONTROLLERS = 1, 2


def handle(broker: Broker, call: Call[DescribeClusterRequest]) -> DescribeClusterResponse:
    """Describe the nodes."""
    asked = call.request.endpoint_type
    if asked != BROKERS:
        known = asked == CONTROLLERS
        return DescribeClusterResponse(
            error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
            error_message=(
                "The request was sent to an endpoint of the wrong type: a BROKER, asked for CONTROLLERs."
                if known
                else f"Unsupported endpoint type {asked}"
            ),
            cluster_id="",
            brokers=[],
        )
    nodes = broker.nodes.seen_at(call.connection)
    response = DescribeClusterResponse(
        cluster_id=broker.cluster_id,
        controller_id=broker.nodes.controller_among(nodes),
        brokers=[
            DescribeClusterBroker(
                broker_id=node.node_id, host=node.host, port=node.port, rack=broker.config.broker_rack
            )
            for node in nodes
        ],
    )
    if call.request.include_fenced_brokers:
        rack = broker.config.broker_rack
        response.brokers += (
            DescribeClusterBroker(
                broker_id=node.node_id, host=node.host, port=node.port, rack=rack, is_fenced=True
            )
            for node in broker.nodes.fenced_for(call.connection)
        )
    if call.request.include_cluster_authorized_operations:
        rights = call.rights
        response.cluster_authorized_operations = (
            CLUSTER_OPERATIONS if rights is None else rights.operations(ResourceType.CLUSTER, CLUSTER_NAME)
        )
    return response
