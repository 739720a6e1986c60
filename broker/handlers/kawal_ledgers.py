"""KawalLedgers: v0.  Kawal's own API, by which the node that tells of all ledgers asks the others for theirs.

Behaviour: answers with partitions that this node leads, of which ledgers have changed after a number that it
gave before, or with the first of all.
Errors: none.  Clients get no answer: as for an API that is not served, their connection ends.
Differences from Apache Kafka: it has no ledgers.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.handlers.envelope import not_served
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps
from broker.upkeep.asked_nodes import catalogue_version
from broker.upkeep.own_ledgers import OwnLedgers, changed_ledgers
from protocol.messages.kawal_ledgers import (
    KawalLedgersRequest,
    KawalLedgersResponse,
    LedgerSpan,
    PartitionLedgers,
)

if TYPE_CHECKING:
    from broker.core import Broker
    from wal.ledgers import Span


def handle(broker: Broker, call: Call[KawalLedgersRequest]) -> Parked | WaitingSteps:
    """Answer with the partitions of which ledgers have changed."""
    if not call.connection.from_peer:
        return not_served(call)
    nodes = broker.nodes
    life = nodes.epoch_of(nodes.own_id)
    return _answer(broker, call.request.after if call.request.life == life else 0, life)


def _answer(broker: Broker, after: int, life: int) -> WaitingSteps:
    changed = yield from changed_ledgers(broker, broker.vnodes, after)
    partitions = []
    for partition in changed.partitions:
        partitions.append(_told(partition))
        yield None
    return KawalLedgersResponse(
        has_more=changed.has_more,
        catalogue_version=catalogue_version(broker, broker.meta.log.next_version),
        life=life,
        next_after=changed.next_after,
        partitions=partitions,
    )


def _told(partition: OwnLedgers) -> PartitionLedgers:
    return PartitionLedgers(
        topic_id=partition.topic_id,
        partition_index=partition.partition,
        ledgers=list(map(_told_span, partition.spans)),
    )


def _told_span(span: Span) -> LedgerSpan:
    return LedgerSpan(
        ledger_id=span.ledger_id,
        first_offset=span.first_offset,
        end_offset=-1 if span.end_offset is None else span.end_offset,
        entries=-1 if span.entries is None else span.entries,
        size_bytes=-1 if span.size_bytes is None else span.size_bytes,
        begun_ms=span.begun_ms,
    )
