"""KawalGreet: v0.  Kawal's own API, by which the nodes of a cluster on several machines know each other.

Behaviour: the first request is answered with random bytes, the second with this node's identity if it proves
that the one that asks has the cluster's secret: from then on the connection is that of a node.  It may come
before a login, and instead of it.  broker/security/node_greeting.py has the proofs.
Errors: CLUSTER_AUTHORIZATION_FAILED for a wrong proof, and the connection ends; for a node that has the
secret INCONSISTENT_CLUSTER_ID, INVALID_CONFIG for another number of nodes, BROKER_ID_NOT_REGISTERED if it
takes this node for another one. On a server without nodes on other machines the connection ends, as for an
API that is not served.
Differences from Apache Kafka: its brokers log in by SASL or TLS as clients do.
Version notes: none.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final, cast

from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.stats import Cause
from broker.security.node_greeting import NONCE_BYTES, Greeter, Hello, Reply
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_greet import KawalGreetRequest, KawalGreetResponse

if TYPE_CHECKING:
    from broker.connections.connection import Connection
    from broker.core import Broker

logger = logging.getLogger("kawal.security")

WRONG_PROOF: Final = (
    "it wants to be a node of this cluster, and has another secret (kawal.cluster.secret.file)"
)


def handle(broker: Broker, call: Call[KawalGreetRequest]) -> KawalGreetResponse | Parked:
    """Answer the first words, or the second."""
    greeter, request = broker.nodes.greeter, call.request
    if greeter is None or call.connection.from_peer or len(request.nonce) != NONCE_BYTES:
        return not_served(call)
    connection = call.connection.identity
    if not request.proof:
        return KawalGreetResponse(nonce=greeter.nonce(connection))
    hello = Hello(request.number, request.to, request.count, request.cluster_id, bytes(request.nonce))
    if not greeter.is_node(hello, connection, bytes(request.proof)):
        return _refuse(broker, greeter, call)
    reply = Reply(greeter.judge(hello, broker.cluster_id), broker.cluster_id, broker.clock.turn_ms)
    if not reply.code:
        _let_in(cast("Connection", call.connection))
    return KawalGreetResponse(
        error_code=reply.code,
        cluster_id=reply.cluster_id,
        clock_ms=reply.clock_ms,
        proof=greeter.prove(hello, connection, reply),
    )


def _refuse(broker: Broker, greeter: Greeter, call: Call[KawalGreetRequest]) -> KawalGreetResponse:
    connection = call.connection
    if greeter.may_log(broker.clock.turn_ms):
        logger.warning("refused a client from %s: %s", connection.host, WRONG_PROOF)
    connection.close(WRONG_PROOF, Cause.SETUP)
    return KawalGreetResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def _let_in(connection: Connection) -> None:
    """Take the connection for that of a node, which needs no login."""
    if connection.login is not None:
        connection.login.leave()
    connection.login = connection.ready_by_ms = None
    connection.from_peer = True
