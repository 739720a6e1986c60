"""AddPartitionsToTxn: v0-3.

Behaviour: adds partitions to a producer's transaction, which begins with the first; answers when that is
durable.  If one partition does not exist, that one answers UNKNOWN_TOPIC_OR_PARTITION, all others
OPERATION_NOT_ATTEMPTED, and nothing is added.
Differences from Apache Kafka: while the markers of the transaction before are being written, the request
waits for them, half a second at most, before it answers CONCURRENT_TRANSACTIONS.  v4 and v5 are sent by
brokers only, and not served.
Version notes: v2 PRODUCER_FENCED (v0 and v1: INVALID_PRODUCER_EPOCH, KIP-588); v3 flexible.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.coordinators.transactions import FENCED_SINCE, shown
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import ITEMS_PER_STEP, WaitingSteps, in_slices
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV1, TopicPartition
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopicResult,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> Parked | WaitingSteps:
    """Pass the partitions, if all of them exist, to the transaction coordinator."""
    count = sum(len(topic.partitions) for topic in call.request.v3_and_below_topics)
    answer: Parked | WaitingSteps = in_slices(_add(broker, call), count)
    return answer


def _add(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> WaitingSteps:
    request = call.request
    missing: set[TopicPartition] = set()
    places: set[TopicPartition] = set()
    for topic in request.v3_and_below_topics:
        for number, index in enumerate(topic.partitions):
            places.add((topic.name, index))
            if not _is_writable(broker, topic.name, index):
                missing.add((topic.name, index))
            if not number % ITEMS_PER_STEP:
                yield None
    if missing or not places:
        return _answer(request, missing, ErrorCode.OPERATION_NOT_ATTEMPTED)
    member = Member(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
    )

    def added(code: ErrorCode) -> None:
        call.reply(_answer(request, missing, shown(code, call.version, FENCED_SINCE)))

    now_ms = broker.clock.turn_ms
    with broker.transactions.step(now_ms) as machine:
        machine.enlist(member, frozenset(places), added, now_ms, client_version=TV1)
    return PARKED


def _is_writable(broker: Broker, name: str, index: int) -> bool:
    topic = broker.catalogue.find(name)
    if topic is None or topic.view is not None:
        return False
    try:
        broker.topics.partition(topic, index)
    except RequestError as error:
        error.__traceback__ = None
        return False
    return True


def _answer(
    request: AddPartitionsToTxnRequest, missing: set[TopicPartition], code: ErrorCode
) -> AddPartitionsToTxnResponse:
    """Return the answer: as was asked, or if partitions are missing each once, and no topic without any."""
    asked = [(topic.name, topic.partitions) for topic in request.v3_and_below_topics]
    if missing:
        once: dict[str, dict[int, None]] = {}
        for name, indexes in asked:
            if indexes:
                once.setdefault(name, {}).update(dict.fromkeys(indexes))
        asked = [(name, list(indexes)) for name, indexes in once.items()]
    return AddPartitionsToTxnResponse(
        results_by_topic_v3_and_below=[
            AddPartitionsToTxnTopicResult(
                name=name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index, partition_error_code=_code(missing, name, index, code)
                    )
                    for index in indexes
                ],
            )
            for name, indexes in asked
        ]
    )


def _code(missing: set[TopicPartition], name: str, index: int, code: ErrorCode) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if (name, index) in missing else code
