"""FindCoordinator: v0-6.

Behaviour: the leader of the partition that holds a group, or a transactional id, coordinates it; while that
node is away, the answer is COORDINATOR_NOT_AVAILABLE.  So is the first one to a connection about a
transactional id whose coordinator has moved to another address, and the connection ends if it is older than
that: a client would keep to the old address.
Differences from Apache Kafka: answers at once, where Kafka first creates its internal topic.
Version notes: v1 key types; v3 flexible; v4 many keys (KIP-699); v6 key type of share groups (refused: 42).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.catalogue.moves import News
from broker.catalogue.topics import OFFSETS_TOPIC, TRANSACTIONS_TOPIC
from broker.loop.call import Call, CallConnection
from broker.loop.slices import Steps, begun, made_of
from broker.loop.stats import Cause
from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

GROUP, TRANSACTION = 0, 1
_TOPICS = {GROUP: OFFSETS_TOPIC, TRANSACTION: TRANSACTIONS_TOPIC}
MANY_KEYS_VERSION = 4

KEYS_PER_STEP = 100
"""The keys answered between two looks at the time, about 0.1 ms."""


def handle(broker: Broker, call: Call[FindCoordinatorRequest]) -> FindCoordinatorResponse | Steps:
    """Name the node that coordinates each key."""
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
        why = f"coordinator type {key_type} is not served: 0 is a group's, 1 a transaction's"
        return _none(key, ErrorCode.INVALID_REQUEST, why)
    node_id = broker.topics.coordinator(_TOPICS[key_type], key)
    if node_id is None:
        return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, "the topic of its state is being made")
    node = broker.nodes.node_at(node_id, call.connection)
    if node is None:
        return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, f"node {node_id} is away")
    if key_type == TRANSACTION and (why := _moved(broker, call.connection, node_id)):
        return _none(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, why)
    return Coordinator(key=key, node_id=node_id, host=node.host, port=node.port, error_message="")


def _moved(broker: Broker, connection: CallConnection, node_id: int) -> str:
    """Return what a connection is to be told instead of a node; "" for nothing."""
    news = broker.nodes.news_for(connection, node_id, broker.clock.turn_ms)
    if news is News.NONE:
        return ""
    if news is News.MOVED_SINCE:
        # After the answer.
        broker.scheduler.soon(lambda: connection.close(f"node {node_id} has moved", Cause.MOVED))
    return f"node {node_id} has moved: ask again"


def _none(key: str, code: ErrorCode, message: str) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=code, error_message=message)
