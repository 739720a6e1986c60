"""The requests and the rules of gate_cost.py and gate_in_process.py.

produce, 1 partition       64 records of 1 KB a request
produce, 100 partitions    10 records for one partition a request, as librdkafka sends them
consume, 1 partition       about 1 MB a request
consume, 100 partitions    all of them named in each request, 10 KB of each
"""

from __future__ import annotations

import struct
from typing import Final

from broker.security.acls import Acl, PatternType, Permission, ResourceType
from broker.security.authorized_operations import Operation
from compat_tests.batches import Batch
from protocol.headers import encode_request_header
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.schema import declaration
from protocol.wire import encode

RULES: Final = 10_000

VALUE: Final = bytes(range(256)) * 4

PRODUCE_VERSION: Final = 10
FETCH_VERSION: Final = 12


def acl_of(number: int) -> Acl:
    """Return a rule that names another user, and another topic (nine of ten) or a prefix."""
    return Acl(
        ResourceType.TOPIC,
        f"other-{number}",
        PatternType.LITERAL if number % 10 else PatternType.PREFIXED,
        f"User:u{number % 100}",
        "*",
        Operation.READ,
        Permission.ALLOW,
    )


def produce_frames(topic: str, partitions: int, time_ms: int) -> list[bytes]:
    """Return a request for each partition, with records of this time."""
    count = 64 if partitions == 1 else 10
    batch = Batch(values=[VALUE] * count, base_timestamp=time_ms).encode()
    found = []
    for index in range(partitions):
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=index, records=batch)])
        request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
        found.append(_frame(request, PRODUCE_VERSION))
    return found


def consume_frames(topic: str, partitions: int) -> list[bytes]:
    """Return one request for about the first MB of the topic."""
    each_bytes = 1_000_000 if partitions == 1 else 10_500
    wanted = [
        FetchPartition(partition=index, fetch_offset=0, partition_max_bytes=each_bytes)
        for index in range(partitions)
    ]
    topics = [FetchTopic(topic=topic, partitions=wanted)]
    request = FetchRequest(max_wait_ms=500, min_bytes=1, max_bytes=50_000_000, topics=topics)
    return [_frame(request, FETCH_VERSION)]


def _frame(request: object, version: int) -> bytes:
    api = declaration(type(request)).api
    assert api is not None
    header = encode_request_header(api_key=api, api_version=version, correlation_id=1, client_id="gate")
    body = header + b"".join(bytes(part) for part in encode(request, version))  # type: ignore[arg-type]  # no file ranges
    return struct.pack(">i", len(body)) + body
