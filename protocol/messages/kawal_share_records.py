"""KawalShareRecords (30009): the stored states of share-partitions, between the nodes of a cluster."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bytes, Int16, Int32, Int64, message, struct, wire


@struct
class StateRecord:
    """A record of __share_group_state."""

    key: bytes = wire(Bytes)
    value: bytes | None = wire(Bytes, nullable="0+", default=None)
    """None deletes what the key names."""


@message(api=ApiKey.KAWAL_SHARE_RECORDS, versions="0", flexible="0+")
class KawalShareRecordsRequest:
    """A request for the states in a partition of __share_group_state, or changes of them to be stored.

    Source: Kawal's own.
    """

    node_id: int = wire(Int32)
    """The node that asks, which leads the partitions that these states are about."""
    partition: int = wire(Int32)
    session: int = wire(Int64, default=-1)
    """-1: the states are asked for, and a session in which they can be changed."""
    number: int = wire(Int64, default=0)
    """The number of this request in its session, from 0 on."""
    records: list[StateRecord] = wire(ArrayOf(StateRecord))


@message(api=ApiKey.KAWAL_SHARE_RECORDS, versions="0", flexible="0+")
class KawalShareRecordsResponse:
    """The states, or whether the changes are durable.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    session: int = wire(Int64, default=-1)
    records: list[StateRecord] = wire(ArrayOf(StateRecord))
