"""Questions to a transaction coordinator on another node.

A node that takes the first batch of a transaction, or offsets, asks by AddPartitionsToTxn, as brokers do:

    v4-5, verify_only      whether the client has made the partitions part of its transaction
    v5                     they become part of it; v4: the same for a client of the first protocol

The coordinator answers when what it says is durable. It may know less of the catalogue than the node that
asks: a partition that it does not know yet could get no marker, so it is not added; the node asks again.
Source: KIP-890; Kafka 4.3's AddPartitionsToTxnManager.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, Final

from broker.catalogue.peers import Peers
from groups.transactions.enlisting import Member
from groups.transactions.transaction import TV1, TV2, TopicPartition, by_topic
from protocol.error_codes import ErrorCode
from protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)

VERSIONS: Final = {TV1: 4, TV2: 5}
"""The version of the request by the protocol of the client on whose behalf it is sent."""

_UNKNOWN_THERE: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.OPERATION_NOT_ATTEMPTED})

Codes = Mapping[TopicPartition, ErrorCode]
"""For each partition NONE, or the reason why nothing may be written to it."""


class RemoteTransactions:
    """The coordinator of some transactional ids, on another node."""

    def __init__(self, peers: Peers, node_id: int | None) -> None:
        """Without a node it is not decided yet which one it is."""
        self._peers = peers
        self._node_id = node_id

    def enlist(
        self,
        member: Member,
        places: Collection[TopicPartition],
        take: Callable[[ErrorCode], None],
        *,
        client_version: int,
    ) -> None:
        """Add partitions to a transaction; `take` when that is durable, or with the reason why not."""

        def answered(codes: Codes) -> None:
            take(next((code for code in codes.values() if code), ErrorCode.NONE))

        self._ask(member, places, answered, version=VERSIONS[client_version], verify_only=False)

    def verify(
        self, member: Member, places: Collection[TopicPartition], take: Callable[[Codes], None]
    ) -> None:
        """Ask whether partitions are part of a transaction, durably."""
        self._ask(member, places, take, version=VERSIONS[TV2], verify_only=True)

    def _ask(
        self,
        member: Member,
        places: Collection[TopicPartition],
        take: Callable[[Codes], None],
        *,
        version: int,
        verify_only: bool,
    ) -> None:
        if self._node_id is None:
            take(dict.fromkeys(places, ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        asked = AddPartitionsToTxnTransaction(
            transactional_id=member.transactional_id,
            producer_id=member.producer_id,
            producer_epoch=member.epoch,
            verify_only=verify_only,
            topics=[
                AddPartitionsToTxnTopic(name=name, partitions=list(indexes))
                for name, indexes in by_topic(frozenset(places))
            ],
        )
        request = AddPartitionsToTxnRequest(transactions=[asked])
        self._peers.call(self._node_id, request, version, lambda response: take(_codes_of(places, response)))


def _codes_of(places: Collection[TopicPartition], response: Any | None) -> Codes:
    """Return what an answer says of each partition; of those that it does not name: try again."""
    codes = dict.fromkeys(places, ErrorCode.COORDINATOR_NOT_AVAILABLE)
    for result in () if response is None else response.results_by_transaction:
        for topic in result.topic_results:
            for partition in topic.results_by_partition:
                code = ErrorCode(partition.partition_error_code)
                if code in _UNKNOWN_THERE:
                    code = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
                codes[topic.name, partition.partition_index] = code
    return codes
