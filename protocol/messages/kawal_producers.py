"""KawalProducers (30004): the named producers of a topic with kawal.dedup=seqno; Kafka has no such thing."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bytes, Int16, Int32, Int64, String, message, struct, wire


@message(api=ApiKey.KAWAL_PRODUCERS, versions="0", flexible="0+")
class KawalProducersRequest:
    """A request for the last numbers of some producers of a topic, or of all.

    Source: Kawal's own.
    """

    topic: str = wire(String)
    names: list[bytes] | None = wire(ArrayOf(Bytes), nullable="0+", default=None)


@struct
class NamedProducer:
    """A producer that the topic remembers."""

    name: bytes = wire(Bytes)
    partition: int = wire(Int32)
    """The partition that it has written to last; with kawal.routing=producer-bind the one it is bound to."""
    last_seqno: int = wire(Int64, default=-1)
    """The last number that is stored for good; -1: none."""
    open_seqno: int = wire(Int64, default=-1)
    """The last number written in a transaction that is open; -1: there is none."""
    written_ms: int = wire(Int64)
    """The time of its last batch, ms since 1970."""


@message(api=ApiKey.KAWAL_PRODUCERS, versions="0", flexible="0+")
class KawalProducersResponse:
    """The producers, in no order; of those asked for, the ones that are remembered.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    producers: list[NamedProducer] = wire(ArrayOf(NamedProducer))
    silent_nodes: list[int] = wire(ArrayOf(Int32), tag=0, default=[])
    """Nodes of the cluster that have not answered: what they know is missing."""
