"""AddPartitionsToTxn: v0-3.

Behaviour: adds partitions to a producer's transaction, which begins with the first; answers when that is
durable, and serves no later request of the connection before.  If one partition does not exist, that one
answers UNKNOWN_TOPIC_OR_PARTITION, all others OPERATION_NOT_ATTEMPTED, and nothing is added.
Differences from Apache Kafka: while the markers of the transaction before are being written, the request
waits for them, half a second at most, before it answers CONCURRENT_TRANSACTIONS.  If the transaction would
have more than kawal.transaction.max.partitions, all answer POLICY_VIOLATION.  v4 and v5 are sent by brokers
only: they are neither listed nor served to clients. In v4 the partitions are added for a client of the first
protocol, in v5 of the second.
Version notes: v2 PRODUCER_FENCED (v0 and v1: INVALID_PRODUCER_EPOCH, KIP-588); v3 flexible.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from typing import TYPE_CHECKING, Final

from broker.coordinators.remote_transactions import VERSIONS, Codes
from broker.coordinators.transactions import FENCED_SINCE, shown
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import (
    Pace,
    Steps,
    WaitingSteps,
    at_once,
    begun,
    chunks,
    emptied,
    emptied_tables,
    made_by_group,
    outcome_of,
    size_of,
)
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV1, TV2, TopicPartition
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)

if TYPE_CHECKING:
    from broker.core import Broker

NODES_SINCE: Final = 4
"""The first version that is for nodes alone; the dispatcher refuses it to clients."""

PARTITIONS_PER_STEP: Final = 50
"""The partitions that are looked up, or answered, between two looks at the time: about 0.2 ms."""


def handle(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> Parked | WaitingSteps:
    """Pass the partitions, if all of them exist, to the transaction coordinator."""
    if call.version >= NODES_SINCE:
        return _answer_node(broker, call)
    answer: Parked | WaitingSteps = begun(_add(broker, call))
    return answer


def _add(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> WaitingSteps:
    request = call.request
    missing: set[TopicPartition] = set()
    places: set[TopicPartition] = set()
    pace = Pace(PARTITIONS_PER_STEP)
    for topic in request.v3_and_below_topics:
        for index in topic.partitions:
            known = places if _is_known(broker, topic.name, index) else missing
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
            machine.enlist(member, places, added, now_ms, client_version=TV1)

    def answer(code: ErrorCode) -> Generator[None, None, AddPartitionsToTxnResponse]:
        return _answer(request, missing, shown(code, call.version, FENCED_SINCE))

    code = yield from outcome_of(enlist)
    yield from emptied(places)
    if size_of(request.v3_and_below_topics, lambda topic: topic.partitions) > PARTITIONS_PER_STEP:
        return (yield from answer(code))
    call.reply(at_once(answer(code)))
    return PARKED


def _answer(
    request: AddPartitionsToTxnRequest, missing: set[TopicPartition], code: ErrorCode
) -> Generator[None, None, AddPartitionsToTxnResponse]:
    """Return the answer: as was asked, or if partitions are missing each once, and no topic without any."""
    asked: Iterable[tuple[str, Iterable[int]]]
    once: dict[str, dict[int, None]] = {}
    asked = ((topic.name, topic.partitions) for topic in request.v3_and_below_topics)
    if missing:
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
    yield from emptied_tables(once)
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _code(missing: set[TopicPartition], name: str, index: int, code: ErrorCode) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if (name, index) in missing else code


# --- other nodes --------------------------------------------------------------------------------------------


def _answer_node(broker: Broker, call: Call[AddPartitionsToTxnRequest]) -> Parked:
    """Answer another node's question, when all that the answer says is durable.

    Later requests of the connection, which may be about others' transactions, do not wait for that.
    """
    transactions = call.request.transactions
    results: dict[int, AddPartitionsToTxnResult] = {}

    def taker(number: int) -> Callable[[Codes], None]:
        def take(codes: Codes) -> None:
            results[number] = _node_result(transactions[number], codes)
            if len(results) == len(transactions):
                made = [results[each] for each in range(len(transactions))]
                call.reply(AddPartitionsToTxnResponse(results_by_transaction=made))

        return take

    if not transactions:
        call.reply(AddPartitionsToTxnResponse())
    for number, asked in enumerate(transactions):
        if asked.verify_only:
            _verify_for_node(broker, asked, taker(number))
        else:
            _enlist_for_node(broker, asked, TV2 if call.version >= VERSIONS[TV2] else TV1, taker(number))
    return PARKED


def _places_of(asked: AddPartitionsToTxnTransaction) -> list[TopicPartition]:
    return [(topic.name, index) for topic in asked.topics for index in topic.partitions]


def _member(asked: AddPartitionsToTxnTransaction) -> Member:
    return Member(asked.transactional_id, asked.producer_id, asked.producer_epoch)


def _verify_for_node(
    broker: Broker, asked: AddPartitionsToTxnTransaction, take: Callable[[Codes], None]
) -> None:
    places = _places_of(asked)
    steps = _verified(broker, _member(asked), places, take)
    if len(places) > PARTITIONS_PER_STEP:
        broker.scheduler.add_work(steps)
    else:
        at_once(steps)


def _verified(
    broker: Broker, member: Member, places: list[TopicPartition], take: Callable[[Codes], None]
) -> Steps:
    codes: dict[TopicPartition, ErrorCode] = {}
    for part in chunks(places, per_step=PARTITIONS_PER_STEP):
        if codes:
            yield
        with broker.transactions.step(broker.clock.turn_ms) as machine:
            codes |= {place: machine.is_enlisted(member, place) for place in part}
    now_ms = broker.clock.turn_ms
    with broker.transactions.step(now_ms) as machine:
        machine.after_writes(
            member.transactional_id,
            lambda lost: take(dict.fromkeys(places, lost) if lost else codes),
            now_ms,
        )


def _enlist_for_node(
    broker: Broker,
    asked: AddPartitionsToTxnTransaction,
    client_version: int,
    take: Callable[[Codes], None],
) -> None:
    member, places, now_ms = _member(asked), _places_of(asked), broker.clock.turn_ms
    unknown = {place for place in places if not _is_known(broker, *place)}
    if unknown:
        codes = dict.fromkeys(places, ErrorCode.OPERATION_NOT_ATTEMPTED)
        take(codes | dict.fromkeys(unknown, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        return
    with broker.transactions.step(now_ms) as machine:
        machine.enlist(
            member,
            set(places),
            lambda code: take(dict.fromkeys(places, code)),
            now_ms,
            client_version=client_version,
        )


def _is_known(broker: Broker, name: str, index: int) -> bool:
    """Whether there is a partition that a transaction can write to, whichever node leads it."""
    topic = broker.catalogue.find(name)
    return topic is not None and topic.view is None and 0 <= index < topic.partition_count


def _node_result(asked: AddPartitionsToTxnTransaction, codes: Codes) -> AddPartitionsToTxnResult:
    return AddPartitionsToTxnResult(
        transactional_id=asked.transactional_id,
        topic_results=[
            AddPartitionsToTxnTopicResult(
                name=topic.name,
                results_by_partition=[
                    AddPartitionsToTxnPartitionResult(
                        partition_index=index, partition_error_code=codes[topic.name, index]
                    )
                    for index in topic.partitions
                ],
            )
            for topic in asked.topics
        ],
    )
