"""Hints in answers to Produce and Fetch: the leaders of partitions that this node does not lead.

A client that has met NOT_LEADER_OR_FOLLOWER goes on at the right node, without asking for metadata before.
Source: KIP-951; KafkaApis.handleProduceRequest and processResponseCallback of handleFetchRequest.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from broker.catalogue.metadata import Metadata
from broker.loop.call import Call
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.messages import fetch, produce
from protocol.wire import ZERO_UUID

HINTING: Final[dict[int, int]] = {ApiKey.PRODUCE: 10, ApiKey.FETCH: 16}
"""The APIs whose answers have hints, and the first versions that do."""

HINTED: Final = {
    ApiKey.PRODUCE: frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER}),
    ApiKey.FETCH: frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH}),
}
"""The errors for which the leader is named."""

HINTS_MAX: Final = 1_000
"""The partitions of an answer that are looked at, 0.1 ms without errors and about 3 ms with: a client that
asks for more looks at the metadata for the rest."""


def hint(node: Metadata, call: Call[Any], response: Any) -> None:
    """Name the leaders of partitions for which a client was refused, in the response."""
    hinted, leaders = HINTED[ApiKey(call.api_key)], set[int]()
    for topic, partition in islice(_partitions(call, response), HINTS_MAX):
        if partition.error_code in hinted and (leader := _leader(node, call, topic, partition)) is not None:
            partition.current_leader = leader
            leaders.add(leader.leader_id)
    if leaders:
        endpoint = produce.NodeEndpoint if call.api_key == ApiKey.PRODUCE else fetch.NodeEndpoint
        response.node_endpoints = [
            endpoint(node_id=found.node_id, host=found.host, port=found.port, rack=node.config.broker_rack)
            for found in node.nodes.seen_at(call.connection)
            if found.node_id in leaders
        ]


def _partitions(call: Call[Any], response: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each topic of a response with each of its partitions."""
    if call.api_key == ApiKey.PRODUCE:
        return ((topic, each) for topic in response.responses for each in topic.partition_responses)
    return ((topic, each) for topic in response.responses for each in topic.partitions)


def _leader(
    node: Metadata, call: Call[Any], topic: Any, partition: Any
) -> produce.LeaderIdAndEpoch | fetch.LeaderIdAndEpoch | None:
    is_produce = call.api_key == ApiKey.PRODUCE
    by_id = topic.topic_id != ZERO_UUID
    name = topic.name if is_produce else topic.topic
    known = node.catalogue.find_id(topic.topic_id) if by_id else node.catalogue.find(name)
    index = partition.index if is_produce else partition.partition_index
    if known is None or not 0 <= index < known.partition_count:
        # It was deleted meanwhile.
        return None
    leader, epoch = node.topics.leader(known, index)
    kind = produce.LeaderIdAndEpoch if is_produce else fetch.LeaderIdAndEpoch
    return kind(leader_id=leader, leader_epoch=epoch)
