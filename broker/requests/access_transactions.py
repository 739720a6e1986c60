"""Checks of requests about transactions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from broker.loop.slices import made_by_group, tallied
from broker.requests.passage import Checks, Passage, refused_of, refused_parts_of, split
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import add_partitions_to_txn as enlist
from protocol.messages import describe_transactions as described
from protocol.messages import txn_offset_commit as commit

DENIED: Final = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
GROUP_DENIED: Final = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED: Final = ErrorCode.TOPIC_AUTHORIZATION_FAILED


def _may_write(passage: Passage, transactional_id: str) -> bool:
    return passage.rights.may_transactional_id(Operation.WRITE, transactional_id)


def _init_producer_id(passage: Passage) -> Checks:
    yield from ()
    rights, transactional_id = passage.rights, passage.request.transactional_id
    if transactional_id is not None:
        return None if _may_write(passage, transactional_id) else DENIED
    if rights.may_cluster(Operation.IDEMPOTENT_WRITE) or rights.may_some_topic(Operation.WRITE):
        return None
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _add_offsets(passage: Passage) -> Checks:
    yield from ()
    request = passage.request
    if not _may_write(passage, request.transactional_id):
        return DENIED
    return None if passage.rights.may_group(Operation.READ, request.group_id) else GROUP_DENIED


def _end_txn(passage: Passage) -> Checks:
    yield from ()
    return None if _may_write(passage, passage.request.transactional_id) else DENIED


def _write_markers(passage: Passage) -> Checks:
    yield from ()
    rights = passage.rights
    if rights.may_cluster(Operation.ALTER) or rights.may_cluster(Operation.CLUSTER_ACTION):
        return None
    return ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _add_partitions(passage: Passage) -> Checks:
    """Refuse all partitions if one is denied: those that are not get OPERATION_NOT_ATTEMPTED."""
    request, rights = passage.request, passage.rights
    if not _may_write(passage, request.v3_and_below_transactional_id):
        return DENIED
    topics = request.v3_and_below_topics
    _, denied = yield from split(topics, lambda topic: rights.may_topic(Operation.WRITE, topic.name))
    if not denied:
        return None
    names = yield from tallied(topic.name for topic in denied)

    def code_of(name: str, index: int) -> ErrorCode:
        if name in names:
            return TOPIC_DENIED
        topic = passage.catalogue.find(name)
        exists = topic is not None and 0 <= index < topic.partition_count
        return ErrorCode.OPERATION_NOT_ATTEMPTED if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    results = yield from made_by_group(
        topics,
        lambda topic: topic.partitions,
        lambda topic, index: enlist.AddPartitionsToTxnPartitionResult(
            partition_index=index, partition_error_code=code_of(topic.name, index)
        ),
        lambda topic, parts: enlist.AddPartitionsToTxnTopicResult(
            name=topic.name, results_by_partition=parts
        ),
    )
    return enlist.AddPartitionsToTxnResponse(results_by_topic_v3_and_below=results)


def _txn_offset_commit(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    if not _may_write(passage, request.transactional_id):
        return DENIED
    if not rights.may_group(Operation.READ, request.group_id):
        return GROUP_DENIED
    request.topics, denied = yield from split(
        request.topics, lambda topic: rights.may_topic(Operation.READ, topic.name)
    )
    refused = yield from refused_parts_of(
        denied,
        lambda topic: topic.partitions,
        lambda item: commit.TxnOffsetCommitResponsePartition(
            partition_index=item.partition_index, error_code=TOPIC_DENIED
        ),
        lambda topic, partitions: commit.TxnOffsetCommitResponseTopic(name=topic.name, partitions=partitions),
    )
    if not refused:
        return None
    if not request.topics:
        return commit.TxnOffsetCommitResponse(topics=refused)
    passage.amend(lambda response: response.topics.extend(refused))
    return None


def _describe(passage: Passage) -> Checks:
    request, rights = passage.request, passage.rights
    request.transactional_ids, denied = yield from split(
        request.transactional_ids,
        lambda name: rights.may_transactional_id(Operation.DESCRIBE, name),
    )

    refused = yield from refused_of(denied, _undescribed)

    def hide(response: Any) -> None:
        for state in response.transaction_states:
            state.topics = [
                topic for topic in state.topics if rights.may_topic(Operation.DESCRIBE, topic.topic)
            ]
        response.transaction_states.extend(refused)

    passage.amend(hide)
    return None


def _undescribed(transactional_id: str) -> described.TransactionState:
    return described.TransactionState(
        error_code=DENIED,
        transactional_id=transactional_id,
        transaction_state="",
        transaction_timeout_ms=0,
        transaction_start_time_ms=0,
        producer_id=0,
        producer_epoch=0,
        topics=[],
    )


CHECKS: Final[dict[int, Callable[[Passage], Checks]]] = {
    ApiKey.INIT_PRODUCER_ID: _init_producer_id,
    ApiKey.ADD_PARTITIONS_TO_TXN: _add_partitions,
    ApiKey.ADD_OFFSETS_TO_TXN: _add_offsets,
    ApiKey.END_TXN: _end_txn,
    ApiKey.WRITE_TXN_MARKERS: _write_markers,
    ApiKey.TXN_OFFSET_COMMIT: _txn_offset_commit,
    ApiKey.DESCRIBE_TRANSACTIONS: _describe,
}
"""The checks by API."""
