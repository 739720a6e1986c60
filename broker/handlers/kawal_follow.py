"""KawalFollow: v0.  Kawal's own API, by which the nodes of a cluster follow the controller's catalogue.

Behaviour: answers with durable records from a version on, or with those that make up the whole catalogue, and
with the leader epochs and addresses of all nodes, of which the request tells the node's own.
Errors: CLUSTER_AUTHORIZATION_FAILED for all but nodes of the cluster; NOT_CONTROLLER; OFFSET_OUT_OF_RANGE
when the records are no longer stored one by one, or are others: the node must begin anew, with all of them.
Differences from Apache Kafka: Kafka's brokers fetch a topic of their controllers instead.
Version notes: none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from broker.catalogue.catalogue_records import ProducerIdBlock, StreamIdsUsed, encode_record
from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.latch import Latch
from broker.loop.slices import Until, WaitingSteps, in_thread
from broker.upkeep.member_states import members_in, states_of
from protocol.error_codes import ErrorCode
from protocol.messages.kawal_follow import KawalFollowRequest, KawalFollowResponse
from wal.catalogue import CATALOGUE_STREAM

if TYPE_CHECKING:
    from collections.abc import Generator

    from broker.core import Broker
    from wal.versions import VersionedEntry

SETTLES_MS: Final = 1_000
"""The pause between two looks whether every change counts; a change that does ends it."""

NOT_STORED: Final = -1
"""The checksum of a record that is no longer stored by itself."""

READ_BYTES: Final = 1 << 20
"""The records of one answer, but for the whole catalogue: about this much."""


def handle(broker: Broker, call: Call[KawalFollowRequest]) -> KawalFollowResponse | WaitingSteps:
    """Answer with the next records."""
    if not call.connection.from_peer:
        return KawalFollowResponse(error_code=ErrorCode.CLUSTER_AUTHORIZATION_FAILED, records=[])
    if not broker.nodes.is_controller:
        return KawalFollowResponse(error_code=ErrorCode.NOT_CONTROLLER, records=[])
    return _whole(broker) if call.request.version < 0 else _next(broker, call)


def _whole(broker: Broker) -> WaitingSteps:
    while (version := broker.metadata_log.settled_version) is None:
        # Records are on their way to the disk.
        yield from _changed_or_late(broker, broker.clock.turn_ms + SETTLES_MS)
    # Records never change: the list of them is the catalogue of this moment.
    known = list(broker.catalogue.snapshot())
    records: list[bytes] = []
    yield from in_thread(broker.scheduler.offload, lambda: records.extend(map(encode_record, known)))
    return KawalFollowResponse(
        next_version=version,
        newest=_newest_before(broker, version),
        records=records,
        members=states_of(broker.nodes),
    )


def _next(broker: Broker, call: Call[KawalFollowRequest]) -> WaitingSteps:
    request, log = call.request, broker.meta.log
    try:
        _learn(broker, request, call.received_ms)
    except RequestError as error:
        return KawalFollowResponse(error_code=error.code, records=[])
    ends_ms = call.received_ms + request.max_wait_ms
    while not _has_news(broker, request) and broker.clock.turn_ms < ends_ms and not broker.stopping:
        yield from _changed_or_late(broker, ends_ms)
    if not log.first_version <= request.version <= log.next_version or _has_others(broker, request):
        return KawalFollowResponse(error_code=ErrorCode.OFFSET_OUT_OF_RANGE, records=[])
    entries = log.read_versions(request.version, READ_BYTES)
    next_version = entries[-1].version + 1 if entries else request.version
    broker.nodes.answered[request.node_id] = next_version
    return KawalFollowResponse(
        next_version=next_version,
        newest=_checksum(entries[-1]) if entries else request.newest,
        records=[
            bytes(entry.opaque)
            for entry in entries
            if entry.opaque is not None and entry.stream_id == CATALOGUE_STREAM
        ],
        leader_epochs=broker.nodes.epochs,
        members=states_of(broker.nodes),
    )


def _has_others(broker: Broker, request: KawalFollowRequest) -> bool:
    """Whether the node knows other records than this log has, of the versions before the one it names.

    What this process has told it is not compared again: a frame with many records takes long to read.
    """
    if request.newest < 0 or broker.nodes.answered.get(request.node_id) == request.version:
        return False
    return _newest_before(broker, request.version) not in (NOT_STORED, request.newest)


def _newest_before(broker: Broker, version: int) -> int:
    """Return the checksum of the record before a version."""
    log = broker.meta.log
    if version <= log.first_version:
        return NOT_STORED
    return _checksum(log.read_versions(version - 1, 1)[0])


def _checksum(entry: VersionedEntry) -> int:
    checksum: int = crc32c(entry.opaque or b"")
    return checksum


def _has_news(broker: Broker, request: KawalFollowRequest) -> bool:
    known = request.leader_epochs
    return (
        broker.meta.log.next_version != request.version
        or bool(known and known != broker.nodes.epochs)
        or bool(request.members and request.members != states_of(broker.nodes))
    )


def _changed_or_late(broker: Broker, ends_ms: int) -> Generator[Until, None, None]:
    """Wait for the next change of the catalogue or of an epoch, or for the end of the wait."""
    changed: Latch[None] = Latch()
    forget = broker.metadata_log.when_changed(lambda: changed.set(None))
    try:
        yield from changed.wait(broker.timers, ends_ms)
    finally:
        forget()


def _learn(broker: Broker, request: KawalFollowRequest, now_ms: int) -> None:
    """Take what the node knows better: its epoch, ids in its logs, and what it has dropped.

    Raises: RequestError as `MetadataLog.append`.
    """
    catalogue, nodes = broker.catalogue, broker.nodes
    number = request.node_id - nodes.controller_id
    is_news = False
    if request.leader_epochs:
        is_news = nodes.note_epoch(request.node_id, request.leader_epochs[number])
    if request.members and nodes.members is not None:
        (own,) = members_in([request.members[number]])
        is_news |= nodes.members.heard(number, own.addresses, now_ms)
    if is_news:
        # The node refuses clients that were told, by the others, the epoch of its last life.
        broker.metadata_log.resume()
    if request.next_stream > catalogue.next_stream:
        broker.metadata_log.append(StreamIdsUsed(next_id=request.next_stream), now_ms)
    if request.next_producer_id > catalogue.next_producer_id:
        broker.metadata_log.append(ProducerIdBlock(next_id=request.next_producer_id), now_ms)
    broker.topics.deleted_elsewhere.done(request.node_id, request.dropped_version)
