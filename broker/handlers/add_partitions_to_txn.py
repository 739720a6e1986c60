"""AddPartitionsToTxn: v0-3.

Behaviour: adds partitions to a producer's transaction, which begins with the first; answers when that is
durable, and serves no later request of the connection before.  If one partition does not exist, that one
answers UNKNOWN_TOPIC_OR_PARTITION, all others OPERATION_NOT_ATTEMPTED, and nothing is added.
Differences from Apache Kafka: while the markers of the transaction before are being written, the request
waits for them, half a second at most, before it answers CONCURRENT_TRANSACTIONS.  v4 and v5 are sent by
brokers only, and not served.
Version notes: v2 PRODUCER_FENCED (v0 and v1: INVALID_PRODUCER_EPOCH, KIP-588); v3 flexible.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final

from broker.coordinators.transactions import FENCED_SINCE, shown
from broker.errors import RequestError
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Pace, WaitingSteps, at_once, begun, emptied, made_by_group, outcome_of, size_of
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

PARTITIONS_PER_STEP: Final = 50
"""The partitions that are looked up, or answered, between two looks at the time: about 0.2 ms."""


def handle(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> Parked | WaitingSteps:
    """Pass the partitions, if all of them exist, to the transaction coordinator."""
    answer: Parked | WaitingSteps = begun(_add(broker, call))
    return answer


def _add(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> WaitingSteps:
    request = call.request
    missing: set[TopicPartition] = set()
    places: set[TopicPartition] = set()
    pace = Pace(PARTITIONS_PER_STEP)
    for topic in request.v3_and_below_topics:
        for index in topic.partitions:
            known = places if _is_writable(broker, topic.name, index) else missing
            known.add((topic.name, index))
            if pace.due():
                yield None
        if pace.due():
            yield None
    if missing or not places:
        refused = yield from _answer(request, missing, ErrorCode.OPERATION_NOT_ATTEMPTED)
        yield from emptied(missing, places)
        return refused
    member = Member(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
    )

    def enlist(added: Callable[[ErrorCode], None]) -> None:
        now_ms = broker.clock.turn_ms
        with broker.transactions.step(now_ms) as machine:
            machine.enlist(member, frozenset(places), added, now_ms, client_version=TV1)

    def answer(code: ErrorCode) -> Generator[None, None, AddPartitionsToTxnResponse]:
        return _answer(request, missing, shown(code, call.version, FENCED_SINCE))

    code = yield from outcome_of(enlist)
    if size_of(request.v3_and_below_topics, lambda topic: topic.partitions) > PARTITIONS_PER_STEP:
        return (yield from answer(code))
    call.reply(at_once(answer(code)))
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
) -> Generator[None, None, AddPartitionsToTxnResponse]:
    """Return the answer: as was asked, or if partitions are missing each once, and no topic without any."""
    asked: Iterable[tuple[str, Iterable[int]]]
    asked = ((topic.name, topic.partitions) for topic in request.v3_and_below_topics)
    if missing:
        once: dict[str, dict[int, None]] = {}
        pace = Pace(PARTITIONS_PER_STEP)
        for name, indexes in asked:
            if indexes:
                once.setdefault(name, {}).update(dict.fromkeys(indexes))
            if pace.due():
                yield
        asked = once.items()
    results = yield from made_by_group(
        asked,
        lambda topic: topic[1],
        lambda topic, index: AddPartitionsToTxnPartitionResult(
            partition_index=index, partition_error_code=_code(missing, topic[0], index, code)
        ),
        lambda topic, made: AddPartitionsToTxnTopicResult(name=topic[0], results_by_partition=made),
        per_step=PARTITIONS_PER_STEP,
    )
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _code(missing: set[TopicPartition], name: str, index: int, code: ErrorCode) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if (name, index) in missing else code
