"""KawalGreet (30011): a node of a cluster on several machines shows that it has the cluster's secret."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import Bytes, Int16, Int32, Int64, String, message, wire


@message(api=ApiKey.KAWAL_GREET, versions="0", flexible="0+", hot=True)
class KawalGreetRequest:
    """The words of a node that connects: once without a proof, and again with it.

    Source: Kawal's own; broker/security/node_greeting.py.
    """

    number: int = wire(Int32, default=-1)
    to: int = wire(Int32, default=-1)
    count: int = wire(Int32, default=0)
    cluster_id: str = wire(String, default="")
    nonce: bytes = wire(Bytes, default=b"")
    proof: bytes = wire(Bytes, default=b"")


@message(api=ApiKey.KAWAL_GREET, versions="0", flexible="0+", hot=True)
class KawalGreetResponse:
    """Random bytes as the first answer; as the second, who the other node is, and its proof.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    nonce: bytes = wire(Bytes, default=b"")
    cluster_id: str = wire(String, default="")
    clock_ms: int = wire(Int64, default=0)
    """The steady clock of the node that answers."""
    proof: bytes = wire(Bytes, default=b"")
