"""The gate of a node that has others beside it; the ordinary gate is behind it.

What another node sends passes: it was let in by the one that its client has asked.  On a node that is not the
controller, requests that change the catalogue are sent on, and meet the controller's gate; of those that name
also what is this node's own, the part about it is handled here.  What several nodes do not have is refused.
Answers about partitions that others lead name those, and Kawal's own have what all nodes know.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final

from broker.catalogue.asking import Node
from broker.catalogue.config_resources import ResourceType, node_id_of
from broker.config.several_nodes import SPLITS
from broker.errors import RequestError
from broker.handlers import FORWARDED
from broker.loop.call import Call, CallConnection
from broker.loop.slices import WaitingSteps
from broker.requests.forwarding import forward, forward_part
from broker.requests.gate import Refused, WriteGate
from broker.requests.joined_answers import is_joined, joined
from broker.requests.leader_hints import HINTING, hint
from broker.requests.refusals import refusal
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_topics import TopicAction

_CONFIGS: Final = frozenset({ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS})

_DESCRIBING: Final = frozenset({ApiKey.KAWAL_DATABASES, ApiKey.KAWAL_TOPICS})
"""The APIs of ours whose action 0 changes nothing."""


class PeerGate:
    """The gate of one of several nodes."""

    def __init__(self, inner: WriteGate, node: Node) -> None:
        """`inner` is the gate behind it."""
        self._inner = inner
        self._node = node

    def lets_write(self, connection: CallConnection, topic: str) -> bool:
        """Whether a Produce would pass, at once and uncounted."""
        return connection.from_peer or self._inner.lets_write(connection, topic)

    def admit(self, call: Call[Any], now_ms: int) -> object | None:
        """Let nodes pass; send on what is the controller's; leave the rest to the other gate."""
        if call.connection.from_peer:
            return None
        refused = _refused(call)
        if refused is not None:
            return refused
        if call.version >= HINTING.get(call.api_key, call.version + 1):
            call.amend_with(partial(hint, self._node, call))
        if is_joined(call):
            return joined(self._node, call, partial(self._inner.admit, call, now_ms))
        if not self._node.nodes.is_controller and _is_forwarded(call):
            if call.api_key in _CONFIGS:
                return self._by_parts(call, now_ms)
            return forward(self._node, call)
        return self._inner.admit(call, now_ms)

    def _by_parts(self, call: Call[Any], now_ms: int) -> WaitingSteps:
        """Send on what a change of configurations asks for, but for what is this node's."""
        request = call.request
        elsewhere = [item for item in request.resources if not self._is_own(item)]
        response = None
        if elsewhere:
            if len(elsewhere) == len(request.resources):
                return (yield from forward(self._node, call))
            part = type(request)(resources=elsewhere, validate_only=request.validate_only)
            response = yield from forward_part(self._node, call, part)
        # The part that is left takes the ordinary way, and the answers are joined.
        own = [item for item in call.request.resources if self._is_own(item)]
        call.request.resources = own
        verdict: Any = self._inner.admit(call, now_ms)
        if response is not None:
            call.amend_with(partial(_put_first, response.responses))
        if hasattr(verdict, "send"):
            verdict = yield from verdict
        return verdict

    def _is_own(self, item: Any) -> bool:
        """Whether a resource is not the controller's: loggers, and nodes by another id than this one's.

        The latter are refused here, as Kafka's brokers do.
        """
        if item.resource_type == ResourceType.BROKER_LOGGER:
            return True
        if item.resource_type != ResourceType.BROKER or not item.resource_name:
            return False
        try:
            return node_id_of(item.resource_name) != self._node.nodes.own_id
        except RequestError:
            return True


def _refused(call: Call[Any]) -> Refused | None:
    """Return the verdict on a request of what several nodes do not have."""
    if call.api_key == ApiKey.KAWAL_TOPICS and call.request.action == TopicAction.SPLIT:
        return _by(call, ErrorCode.POLICY_VIOLATION, SPLITS)
    return None


def _by(call: Call[Any], code: ErrorCode, why: str) -> Refused:
    return Refused(lambda: refusal(call.api_key, call.request, code, why))


def _is_forwarded(call: Call[Any]) -> bool:
    if call.api_key in _DESCRIBING and not call.request.action:
        return False
    return call.api_key in FORWARDED


def _put_first(others: list[Any], response: Any) -> None:
    """Put these results before those of a response."""
    response.responses[:0] = others
