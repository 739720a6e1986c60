"""Dead letters in partitions that other nodes lead, and their topics, which the controller makes.

Other nodes are asked as by a client, with Produce and CreateTopics. What has no answer may be stored: the
letters are written again then, as those are whose state is not in their frame (dead_letters.py).
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Final

from broker.catalogue.metadata import Metadata
from broker.loop.latch import Latch
from broker.loop.loop import Loop
from broker.loop.slices import Until
from protocol.error_codes import ErrorCode
from protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

WAIT_MS: Final = 5_000
"""The time that another node has; then letters are tried again."""

LOOK_AGAIN_MS: Final = 50
"""The pause between two looks whether this node knows a topic that was made."""

PRODUCE_VERSION: Final = 11
CREATE_VERSION: Final = 7
ALL: Final = -1

Steps = Generator[Until | None, None, None]


class Unwritable(Exception):
    """Dead letters cannot be written now; `str()` says why, and what to do."""


def produce_elsewhere(
    metadata: Metadata, loop: Loop, leader: int, place: tuple[str, int], batch: bytes
) -> Steps:
    """Write a batch to a partition of another node; return when it is durable there.  Raises: Unwritable."""
    name, index = place
    data = PartitionProduceData(index=index, records=batch)
    request = ProduceRequest(
        acks=ALL, timeout_ms=WAIT_MS, topic_data=[TopicProduceData(name=name, partition_data=[data])]
    )
    answer = yield from _asked(metadata, loop, leader, request, PRODUCE_VERSION)
    for topic in answer.responses:
        for outcome in topic.partition_responses:
            if outcome.error_code:
                code = ErrorCode(outcome.error_code).name
                raise Unwritable(f"node {leader} refuses them in partition {index} of {name!r} ({code})")


def create_elsewhere(metadata: Metadata, loop: Loop, name: str, configs: Mapping[str, str]) -> Steps:
    """Have the controller make a topic, and wait until this node knows it.  Raises: Unwritable."""
    topic = CreatableTopic(
        name=name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[],
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    request = CreateTopicsRequest(topics=[topic], timeout_ms=WAIT_MS)
    answer = yield from _asked(metadata, loop, metadata.nodes.controller_id, request, CREATE_VERSION)
    code = ErrorCode(answer.topics[0].error_code)
    if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
        why = answer.topics[0].error_message or code.name
        raise Unwritable(f"dead-letter topic {name!r} cannot be created: {why}")
    until_ms = loop.clock.turn_ms + WAIT_MS
    while name not in metadata.catalogue.by_name and loop.clock.turn_ms < until_ms and not loop.stopping:
        yield from Latch[None]().wait(loop.timers, loop.clock.turn_ms + LOOK_AGAIN_MS)


def _asked(
    metadata: Metadata, loop: Loop, node_id: int, request: Any, version: int
) -> Generator[Until | None, None, Any]:
    answers: Latch[Any] = Latch()
    metadata.nodes.peers.call(node_id, request, version, answers.set)
    found = yield from answers.wait(loop.timers, loop.clock.turn_ms + WAIT_MS)
    if not found or found[0] is None:
        raise Unwritable(f"node {node_id} does not answer")
    return found[0]
