"""TxnOffsetCommit: v0-5.

Behaviour: stores offsets that count when the transaction is committed; answers when they are durable.  From
v5 on the group becomes part of the transaction with the request; before, AddOffsetsToTxn must have made it
so.  Later requests of the connection, its end for instance, come after the transaction has the group.
Differences from Apache Kafka: a request with more than 200 partitions is stored in several batches, in slices
beside the requests of others; the end of the transaction makes all of them count, or none, from 200 on in
slices, after which it is answered.  When the memory for offsets is full (kawal.offsets.max.bytes), and open
transactions have an eighth of it, or 100 of them have an offset of the same partition, one is refused with
COORDINATOR_NOT_AVAILABLE.
Version notes: v2 leader epochs; v3 group membership (KIP-447), flexible; v4 TRANSACTION_ABORTABLE (before:
INVALID_TXN_STATE, KIP-890); v5 enlists the group.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from broker.catalogue.topics import OFFSETS_TOPIC
from broker.coordinators.groups import coordinates, partition_of
from broker.coordinators.offset_parts import PartAnswers, parts_of, takes_parts
from broker.coordinators.transactions import shown
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import (
    PLAIN_ITEMS_PER_STEP,
    Steps,
    Until,
    WaitingSteps,
    begun,
    emptied,
    made_of,
    outcome_of,
)
from broker.storage.transaction_guards import offsets_key
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV2, TopicPartition
from protocol.error_codes import ErrorCode
from protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponseTopic,
)

if TYPE_CHECKING:
    from broker.coordinators.remote_transactions import RemoteTransactions
    from broker.core import Broker

ABORTABLE_SINCE: Final = 4
ENLISTS_SINCE: Final = 5
NEVER: Final = 1 << 15
"""Clients are not told of PRODUCER_FENCED here, in any version."""


def handle(broker: Broker, call: Call[TxnOffsetCommitRequest]) -> Parked | WaitingSteps:
    """Make sure that the group is part of the transaction, then pass the offsets to the group coordinator."""
    question = _question(broker, call)
    steps = (_in_parts if takes_parts(call.request) else _in_one)(broker, call, question)
    answer: Parked | WaitingSteps = begun(steps)
    return answer


def _question(broker: Broker, call: Call[TxnOffsetCommitRequest]) -> _Question | _Refusal:
    """Return what decides whether the offsets may be stored."""
    request, now_ms = call.request, call.received_ms
    if not request.group_id:
        return _Refusal(ErrorCode.INVALID_GROUP_ID)
    place = OFFSETS_TOPIC, partition_of(broker.groups, request.group_id, now_ms)
    if broker.nodes.count > 1 and not coordinates(broker.groups, place[1], now_ms):
        return _Refusal(ErrorCode.NOT_COORDINATOR)
    return _Question(broker, call, place)


def _in_one(
    broker: Broker, call: Call[TxnOffsetCommitRequest], question: _Question | _Refusal
) -> WaitingSteps:
    try:
        code = (yield from outcome_of(question.ask)) or question.verdict()
    finally:
        question.release()
    if code:
        _refuse(broker, call, code)
    else:
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as groups:
            groups.txn_offset_commit(call.request, call.reply, now_ms)
    return PARKED


def _refuse(broker: Broker, call: Call[TxnOffsetCommitRequest], code: ErrorCode) -> None:
    now_ms = broker.clock.turn_ms
    with broker.groups.step(now_ms) as groups:
        call.reply(groups.refuse_txn_commit(call.request, code, now_ms))


def _in_parts(
    broker: Broker, call: Call[TxnOffsetCommitRequest], question: _Question | _Refusal
) -> WaitingSteps:
    """Commit a part in each step; the transaction's end makes all of them count, or none."""
    request, answers = call.request, PartAnswers()
    try:
        verdict = yield from outcome_of(question.ask)
        for found in parts_of(request):
            if found is None:
                yield None
                continue
            number, part = found
            code = verdict or question.verdict()
            now_ms = broker.clock.turn_ms
            with broker.groups.step(now_ms) as groups:
                answered = answers.expect_part(number)
                if code:
                    answered(groups.refuse_txn_commit(part, code, now_ms))
                else:
                    groups.txn_offset_commit(part, answered, now_ms)
            yield None
    finally:
        question.release()
    yield Until(answers.when_complete)
    topics = yield from made_of(
        request.topics,
        lambda topic: TxnOffsetCommitResponseTopic(name=topic.name, partitions=[]),
        per_step=PLAIN_ITEMS_PER_STEP,
    )
    yield from answers.put_into(topics)
    merged = yield from _merged(broker, topics)
    yield from emptied(topics)
    return TxnOffsetCommitResponse(topics=merged)


def _merged(broker: Broker, topics: list[TxnOffsetCommitResponseTopic]) -> Steps:
    """Return each topic once; those that exist, and of which no partition was named, are left out."""
    by_name: dict[str, TxnOffsetCommitResponseTopic] = {}
    for number, topic in enumerate(topics):
        if not number % PLAIN_ITEMS_PER_STEP:
            yield
        if topic.partitions or broker.catalogue.find(topic.name) is None:
            by_name.setdefault(topic.name, TxnOffsetCommitResponseTopic(name=topic.name, partitions=[]))
            by_name[topic.name].partitions += topic.partitions
    return list(by_name.values())


class _Refusal:
    """Stands for the question where the answer is known: no offset may be stored."""

    def __init__(self, code: ErrorCode) -> None:
        self._code = code

    def ask(self, answer: Callable[[ErrorCode], None]) -> None:
        """Answer at once."""
        answer(self._code)

    def verdict(self) -> ErrorCode:
        """Return the reason."""
        return self._code

    def release(self) -> None:
        """Give back nothing."""


class _Question:
    """Asks the transaction coordinator whether a group's partition is part of the producer's transaction.

    A guard stands from the question to `release`: it tells whether the transaction has ended meanwhile.
    """

    def __init__(self, broker: Broker, call: Call[TxnOffsetCommitRequest], place: TopicPartition) -> None:
        request = call.request
        self._broker = broker
        self._version = call.version
        self._place = place
        self._member = Member(request.transactional_id, request.producer_id, request.producer_epoch)
        self._guarded = offsets_key(place[1]), request.producer_id
        self._guard = broker.coordinators.guards.set(*self._guarded)

    def release(self) -> None:
        """Give back the guard."""
        self._broker.coordinators.guards.release(*self._guarded)

    def verdict(self) -> ErrorCode:
        """Return whether offsets may be stored now, after a positive answer."""
        holds = self._broker.coordinators.guards.holds(*self._guarded, self._guard)
        return ErrorCode.NONE if holds else ErrorCode.INVALID_TXN_STATE

    def ask(self, answer: Callable[[ErrorCode], None]) -> None:
        """Answer once: when the transaction has the partition, or with the reason why not.

        What follows in the same log need not wait until the coordinator's record is durable.
        """
        answered = False

        def take(code: ErrorCode) -> None:
            nonlocal answered
            if answered:
                return
            answered = True
            if code == ErrorCode.NONE and self.verdict():
                if self._version >= ENLISTS_SINCE:
                    # It has waited for the markers of the transaction before: that was no end of this one.
                    self._guard_again()
                    self.ask(answer)
                    return
                code = self.verdict()
            answer(_shown(code, self._version))

        self._ask(take)
        if not answered and self._is_in_one_log():
            take(ErrorCode.NONE)

    def _guard_again(self) -> None:
        guards = self._broker.coordinators.guards
        guards.release(*self._guarded)
        self._guard = guards.set(*self._guarded)

    def _ask(self, take: Callable[[ErrorCode], None]) -> None:
        away = self._broker.coordinators.transactions_elsewhere(self._member.transactional_id)
        if away is not None:
            self._ask_elsewhere(away, take)
            return
        now_ms = self._broker.clock.turn_ms
        with self._broker.transactions.step(now_ms) as machine:
            if self._version >= ENLISTS_SINCE:
                machine.enlist(self._member, frozenset({self._place}), take, now_ms, client_version=TV2)
                return
            code = machine.is_enlisted(self._member, self._place)
            machine.after_writes(self._member.transactional_id, lambda lost: take(lost or code), now_ms)

    def _ask_elsewhere(self, away: RemoteTransactions, take: Callable[[ErrorCode], None]) -> None:
        place = self._place
        if self._version >= ENLISTS_SINCE:
            away.enlist(self._member, [place], take, client_version=TV2)
        else:
            away.verify(self._member, [place], lambda codes: take(codes[place]))

    def _is_in_one_log(self) -> bool:
        """Whether the coordinator's record is in the log that takes the offsets, durable or not."""
        home = self._broker.transactions.written_to(self._member, [self._place])
        topic = self._broker.catalogue.find(OFFSETS_TOPIC)
        if home is None or topic is None or self._broker.groups.has_backlog:
            return False
        return self._broker.topics.partition(topic, self._place[1]).vnode is home


def _shown(code: ErrorCode, version: int) -> ErrorCode:
    """Return the code that a client of this version understands."""
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < ABORTABLE_SINCE:
        return ErrorCode.INVALID_TXN_STATE
    if code == ErrorCode.CONCURRENT_TRANSACTIONS and version < ENLISTS_SINCE:
        return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    return shown(code, version, NEVER)
