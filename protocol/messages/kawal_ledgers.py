"""KawalLedgers (30014): the ledgers of a node's partitions, for the node that tells of all of them."""

from __future__ import annotations

from uuid import UUID

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Int16, Int32, Int64, Uuid, message, struct, wire


@struct
class LedgerSpan:
    """A ledger; -1 for an end, for entries or bytes that it does not have, or that are not known."""

    ledger_id: int = wire(Int32)
    first_offset: int = wire(Int64)
    end_offset: int = wire(Int64, default=-1)
    entries: int = wire(Int64, default=-1)
    size_bytes: int = wire(Int64, default=-1)
    begun_ms: int = wire(Int64, default=-1)


@struct
class PartitionLedgers:
    """All ledgers of a partition."""

    topic_id: UUID = wire(Uuid)
    partition_index: int = wire(Int32)
    ledgers: list[LedgerSpan] = wire(ArrayOf(LedgerSpan))


@message(api=ApiKey.KAWAL_LEDGERS, versions="0", flexible="0+")
class KawalLedgersRequest:
    """A request for the partitions of a node of which ledgers have changed after a number that it gave.

    Source: Kawal's own.
    """

    life: int = wire(Int32, default=-1)
    """The leader epoch that came with the number: a node that has started since begins again."""
    after: int = wire(Int64, default=0)


@message(api=ApiKey.KAWAL_LEDGERS, versions="0", flexible="0+")
class KawalLedgersResponse:
    """The first of these partitions, in the order of their changes, and the number from which to go on.

    Source: as for the request.
    """

    error_code: int = wire(Int16, default=0)
    has_more: bool = wire(Bool, default=False)
    catalogue_version: int = wire(Int64, default=-1)
    """The version of the catalogue up to which the node knew it."""
    life: int = wire(Int32, default=-1)
    next_after: int = wire(Int64, default=0)
    partitions: list[PartitionLedgers] = wire(ArrayOf(PartitionLedgers))
