"""KawalFollow (30008): the records of the catalogue, and leader epochs, for other nodes of its cluster."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Bytes, Int16, Int32, Int64, String, message, struct, wire


@struct
class MemberAddress:
    """The address that a listener advertises."""

    listener: str = wire(String)
    host: str = wire(String)
    port: int = wire(Int32)


@struct
class MemberState:
    """The state of a node of several machines: whether it is there, and its addresses for clients."""

    is_there: bool = wire(Bool, default=False)
    addresses: list[MemberAddress] = wire(ArrayOf(MemberAddress))


@message(api=ApiKey.KAWAL_FOLLOW, versions="0", flexible="0+", hot=True)
class KawalFollowRequest:
    """A request for the records from `version` on; it waits for some, up to `max_wait_ms`.

    Source: Kawal's own.
    """

    version: int = wire(Int64, default=-1)
    """-1: records that make up the whole catalogue as it is now."""
    newest: int = wire(Int64, default=-1)
    """The `newest` of the answer that ended at `version`; -1: it is not known."""
    max_wait_ms: int = wire(Int32, default=0)
    node_id: int = wire(Int32, default=-1)
    dropped_version: int = wire(Int64, default=-1)
    """The version before which all topics and databases were deleted of which the node has nothing left."""
    next_stream: int = wire(Int64, default=0)
    """Above every stream in the node's logs, which may know more than the catalogue after a repair."""
    next_producer_id: int = wire(Int64, default=0)
    """Above every producer id in them."""
    leader_epochs: list[int] = wire(ArrayOf(Int32), default=[])
    """The leader epochs of all nodes, as far as they are known, and the node's own: others end the wait."""
    members: list[MemberState] = wire(ArrayOf(MemberState), default=[])
    """Likewise what is known of the nodes of several machines, by number; workers tell nothing."""


@message(api=ApiKey.KAWAL_FOLLOW, versions="0", flexible="0+", hot=True)
class KawalFollowResponse:
    """Records, in order, and the version from which to go on.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    next_version: int = wire(Int64, default=-1)
    newest: int = wire(Int64, default=-1)
    """A checksum of the record before that version, by which the node tells later how far it has come: a
    controller that was put back may have others of the same versions.  -1: it is no longer stored."""
    records: list[bytes] = wire(ArrayOf(Bytes))
    leader_epochs: list[int] = wire(ArrayOf(Int32), default=[])
    """The leader epochs of all nodes, in the order of their ids; -1 for one that has not told it."""
    members: list[MemberState] = wire(ArrayOf(MemberState), default=[])
    """The nodes of several machines, as the controller knows them."""
