"""Answers to Kawal's own requests of which every node knows a part: the node that is asked joins them.

    client --request--> node: gate, handler -- own part --+
                          `--envelopes--> others -- parts -+--> client

Each of the others serves the request as its client's own, with its rights and quotas.  One that does not
answer in time is named in the answer.  Connections are given a page at a time, those of one node after the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from functools import partial
from typing import Any, Final

from broker.catalogue.asking import Node, envelope_of, response_in
from broker.handlers import JOINED
from broker.loop.call import Call
from broker.loop.latch import Latch
from broker.loop.slices import Until
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

WAIT_MS: Final = 6_000
"""How long the others are waited for; the command line waits for 15 s."""

NODE_BITS: Final = 48
"""The connections of a node have ids below 2 to this power."""

NO_MORE: Final = -1

Admit = Callable[[], Any]
"""Brings the call to the gate behind this one, and returns its verdict."""


def is_joined(call: Call[Any]) -> bool:
    """Whether the answer is to have what all nodes know."""
    if call.api_key not in JOINED or call.connection.forwarded:
        return False
    # What changes databases is the controller's.
    return call.api_key != ApiKey.KAWAL_DATABASES or not call.request.action


def joined(node: Node, call: Call[Any], admit: Admit) -> Generator[Until, None, Any]:
    """Ask the other nodes, and have their parts added to the answer of this one; return the verdict."""
    if call.api_key == ApiKey.KAWAL_CONNECTIONS:
        return (yield from _connections(node, call, admit))
    # The gate may take out of the request what this node's part is not to have.
    envelope = yield from envelope_of(node, call, call.request, call.api_key, call.version)
    verdict = yield from _passed(admit)
    if verdict is not None:
        return verdict
    others = [node_id for node_id in node.nodes.ids if node_id != node.nodes.own_id]
    parts = yield from _parts(node, call, envelope, others)
    call.amend_with(partial(_join, parts, JOINS[ApiKey(call.api_key)]))
    return None


def _passed(admit: Admit) -> Generator[Until, None, Any]:
    verdict = admit()
    return (yield from verdict) if hasattr(verdict, "send") else verdict


Parts = dict[int, Any | None]
"""The answers of nodes by their ids; None: it has not answered."""


def _parts(node: Node, call: Call[Any], envelope: Any, ids: Iterable[int]) -> Generator[Until, None, Parts]:
    """Have nodes answer a request, all at once."""
    parts = Parts((node_id, None) for node_id in ids)
    # Those that are known to be away keep no client waiting.
    latches: dict[int, Latch[Any]] = {node_id: Latch() for node_id in parts if node.nodes.is_there(node_id)}
    for node_id, latch in latches.items():
        node.nodes.peers.call(node_id, envelope, 0, latch.set)
    until_ms = node.clock.turn_ms + WAIT_MS
    for node_id, latch in latches.items():
        answers = yield from latch.wait(node.timers, until_ms)
        is_there = answers and answers[0] is not None and not answers[0].error_code
        data = memoryview(bytes(answers[0].response_data)) if is_there else None
        if data is not None:
            parts[node_id] = yield from response_in(node, data, call.api_key, call.version)
    return parts


def _join(parts: Parts, join: Callable[[Any, Any], None], response: Any) -> None:
    for node_id, part in parts.items():
        silent = [node_id] if part is None else part.silent_nodes
        response.silent_nodes = sorted({*response.silent_nodes, *silent})
        if part is not None:
            join(response, part)


# --- the parts of each kind ---------------------------------------------------------------------------------


def _join_groups(response: Any, part: Any) -> None:
    """Add the groups that another node coordinates."""
    _take_error(response, part)
    response.consumers += part.consumers
    response.subscriptions += part.subscriptions


def _join_databases(response: Any, part: Any) -> None:
    """Add the logs that another node leads to the databases that both know."""
    known = {database.name: database for database in part.databases}
    for database in response.databases:
        other = known.get(database.name)
        if other is None or database.error_code or other.error_code:
            continue
        states = [*database.vnode_states, *other.vnode_states]
        database.vnode_states = sorted(states, key=lambda state: int(state.name.rpartition("-")[2]))
        database.size_bytes += other.size_bytes


def _join_producers(response: Any, part: Any) -> None:
    """Take of each producer what the node knows that has its last number."""
    _take_error(response, part)
    known = {producer.name: producer for producer in response.producers}
    for producer in part.producers:
        own = known.get(producer.name)
        if own is None or _reached(own) < _reached(producer):
            known[producer.name] = producer
    response.producers = list(known.values())


def _reached(producer: Any) -> int:
    return max(int(producer.last_seqno), int(producer.open_seqno))


def _join_messages(response: Any, part: Any) -> None:
    """Take each message from the leader of its partition."""
    _take_error(response, part)
    elsewhere = ErrorCode.NOT_LEADER_OR_FOLLOWER
    pairs = zip(response.messages, part.messages, strict=False)
    for index, (own, other) in enumerate(pairs):
        if own.error_code == elsewhere and other.error_code != elsewhere:
            response.messages[index] = other


def _take_error(response: Any, part: Any) -> None:
    """Let the whole fail with a part of it, but for what the node does not know yet, or no longer."""
    if (
        part.error_code
        and not response.error_code
        and part.error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ):
        response.error_code, response.error_message = part.error_code, part.error_message


JOINS: Final[dict[ApiKey, Callable[[Any, Any], None]]] = {
    ApiKey.KAWAL_DATABASES: _join_databases,
    ApiKey.KAWAL_GROUPS: _join_groups,
    ApiKey.KAWAL_PRODUCERS: _join_producers,
    ApiKey.KAWAL_MESSAGES: _join_messages,
}
"""What adds the part of another node to a response."""


def _connections(node: Node, call: Call[Any], admit: Admit) -> Generator[Until, None, Any]:
    """Answer with a page of the node that it belongs to."""
    number, call.request.after = divmod(max(call.request.after, 0), 1 << NODE_BITS)
    node_id, nodes = node.nodes.controller_id + number, node.nodes
    envelope = yield from envelope_of(node, call, call.request, call.api_key, call.version)
    verdict = yield from _passed(admit)
    if verdict is not None or node_id not in nodes.ids:
        return verdict
    mark = partial(_marked, node_id, number, nodes.count)
    if node_id == nodes.own_id:
        call.amend_with(mark)
        return None
    parts = yield from _parts(node, call, envelope, [node_id])
    response = parts[node_id]
    if response is None:
        from protocol.messages.kawal_connections import KawalConnectionsResponse

        response = KawalConnectionsResponse(connections=[], silent_nodes=[node_id])
    mark(response)
    return response


def _marked(node_id: int, number: int, count: int, response: Any) -> None:
    """Say whose connections they are, and where those that follow are."""
    for connection in response.connections:
        connection.node_id = node_id
    if response.next_after != NO_MORE:
        response.next_after += number << NODE_BITS
    elif number + 1 < count:
        response.next_after = (number + 1) << NODE_BITS
