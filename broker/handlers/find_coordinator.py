"""FindCoordinator: v0-6.

Behaviour: this node coordinates every group and transactional id.
Differences from Apache Kafka: answers at once, where Kafka first creates its internal topic.
Version notes: v1 key types; v3 flexible; v4 many keys (KIP-699); v6 key type of share groups (refused: 42).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.loop.slices import Steps, begun, made_of
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

GROUP, TRANSACTION = 0, 1
MANY_KEYS_VERSION = 4

KEYS_PER_STEP = 100
"""The keys answered between two looks at the time, about 0.1 ms."""


def handle(broker: Broker, call: Call[FindCoordinatorRequest]) -> FindCoordinatorResponse | Steps:
    """Name this node for every key."""
    request = call.request
    if call.version >= MANY_KEYS_VERSION:
        answer: FindCoordinatorResponse | Steps = begun(_find_all(broker, call))
        return answer
    only = _coordinator(broker, call, request.key_type, request.key)
    return FindCoordinatorResponse(
        error_code=only.error_code,
        # Kafka's text for no error in these versions; from v4 on it is the empty string.
        error_message=only.error_message or "NONE",
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _find_all(broker: Broker, call: Call[FindCoordinatorRequest]) -> Steps:
    request = call.request
    found = yield from made_of(
        request.coordinator_keys,
        lambda key: _coordinator(broker, call, request.key_type, key),
        per_step=KEYS_PER_STEP,
    )
    return FindCoordinatorResponse(coordinators=found)


def _coordinator(broker: Broker, call: Call[FindCoordinatorRequest], key_type: int, key: str) -> Coordinator:
    if key_type not in (GROUP, TRANSACTION):
        return Coordinator(
            key=key,
            node_id=-1,
            host="",
            port=-1,
            error_code=ErrorCode.INVALID_REQUEST,
            error_message=f"coordinator type {key_type} is not served: 0 is a group's, 1 a transaction's",
        )
    host, port = call.connection.advertised
    return Coordinator(key=key, node_id=broker.config.node_id, host=host, port=port, error_message="")
