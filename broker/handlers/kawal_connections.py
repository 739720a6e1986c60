"""KawalConnections: v0.  Kawal's own API, for its command line; it is never advertised to Kafka clients.

Behaviour: lists the present connections in the order in which they came, a bounded number in one answer,
which says where to go on.
Differences from Apache Kafka: Kafka has no such API, and closes the connection.
Version notes: none.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from broker.connections.connection import Connection
from broker.loop.call import Call
from broker.loop.slices import Steps, chunks
from protocol.messages.kawal_connections import (
    ConnectionInfo,
    KawalConnectionsRequest,
    KawalConnectionsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

ROWS_MAX: Final = 5_000
"""The connections in one answer, a megabyte or less."""


def handle(broker: Broker, call: Call[KawalConnectionsRequest]) -> Steps:
    """Answer with the next connections."""
    return _answer(broker, call.request.after, call.received_ms)


def _answer(broker: Broker, after: int, now_ms: int) -> Steps:
    # In order, because ids only grow.
    every = tuple(broker.connections)
    start = bisect_right(every, after)
    chosen = every[start : start + ROWS_MAX]
    response = KawalConnectionsResponse(connections=[])
    if start + ROWS_MAX < len(every):
        response.next_after = chosen[-1]
    for ids in chunks(chosen):
        for number in ids:
            connection = broker.connections.get(number)
            if connection is not None:
                response.connections.append(_info(broker, connection, now_ms))
        yield
    return response


def _info(broker: Broker, connection: Connection, now_ms: int) -> ConnectionInfo:
    name, version = connection.client_software
    client = connection.client
    return ConnectionInfo(
        connection_id=connection.identity,
        address=connection.peer,
        client_id=client.client_id,
        software_name=name,
        software_version=version,
        connected_ms=broker.clock.wall_ms(client.connected_ms),
        idle_ms=max(now_ms - connection.active_ms, 0),
        requests=client.request_count,
        received_bytes=client.received_bytes,
        sent_bytes=connection.departures.sent_bytes,
        memory_bytes=connection.accounted_requests_bytes + connection.accounted_answers_bytes,
        unanswered=connection.unanswered,
        parked=sum(call.holder is not None for call in connection.calls),
    )
