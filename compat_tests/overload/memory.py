"""The memory that clients can make a gateway take: each load on a gateway of its own, and its peak.

    python -m compat_tests.overload.memory [--seconds 8] [--memory-group PATH] [LOAD ...]

Each load is as hostile as the limits on requests allow: the largest frames, the most elements, answers that
are not read. The peak is the kernel's (VmHWM), so that nothing between two looks is missed.
"""

from __future__ import annotations

import argparse
import contextlib
import re
import select
import socket
import struct
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from compat_tests.batches import Batch
from compat_tests.broker import HOST, Broker
from compat_tests.kawal_broker import KawalBroker
from compat_tests.overload.crowds import MIB
from compat_tests.overload.figures import memory_of, peak_memory_of
from compat_tests.overload.frames import request_frame
from compat_tests.overload.memory_group import MemoryGroup
from compat_tests.topics import create_topic
from compat_tests.wire import raw_client
from protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

LIMIT_MIB: Final = 512
"""The memory that no client may make the gateway exceed."""

PARTITIONS: Final = 199_000
"""Partitions in a request: nearly as many as it may name."""

Frames = Sequence[tuple[int, bytes]]
"""The number of connections, and the bytes that each of them sends."""

Load = Callable[[Broker], Frames]


def sessions(_: Broker) -> Frames:
    """30 fetch sessions of 200,000 unknown partitions each."""
    return [(30, _fetch(FetchTopic(topic="unknown", partitions=_partitions(PARTITIONS)), session_epoch=0))]


def parked(broker: Broker) -> Frames:
    """80 fetches that wait, each naming one partition 200,000 times."""
    create_topic(broker, "quiet", 1)
    return [(80, _fetch(FetchTopic(topic="quiet", partitions=_partitions(PARTITIONS, same=True))))]


def forgetting(broker: Broker) -> Frames:
    """80 fetches that wait, each forgetting nearly 200,000 topics that it never named."""
    create_topic(broker, "quiet", 1)
    forgotten = [ForgottenTopic(topic=f"forgotten-{number}", partitions=[]) for number in range(PARTITIONS)]
    topic = FetchTopic(topic="quiet", partitions=_partitions(1))
    return [(80, _fetch(topic, forgotten_topics_data=forgotten))]


def sliced(_: Broker) -> Frames:
    """60 requests at once for the metadata of 200,000 topics that do not exist, and the answers unread."""
    names = [MetadataRequestTopic(name=f"no-such-topic-{number}") for number in range(PARTITIONS)]
    request = MetadataRequest(topics=names, allow_auto_topic_creation=False)
    return [(60, request_frame(request, 8))]


def joins(_: Broker) -> Frames:
    """20 members with 60 MB of metadata each, in groups of their own."""
    return [(1, _join(f"huge-{number}", 60_000_000)) for number in range(20)]


def large_joins(_: Broker) -> Frames:
    """100 members with 7 MB of metadata each, in groups of their own."""
    return [(1, _join(f"large-{number}", 7_000_000)) for number in range(100)]


def small_joins(_: Broker) -> Frames:
    """20,000 ids for members, given out to clients with names of 32,000 characters."""
    frame = _join("crowd", 10, client_id="x" * 32_000, version=4)
    return [(20, frame * 1000)]


def heartbeats(_: Broker) -> Frames:
    """400 members of new consumer groups, each with 4,000 subscribed topics of 249 characters."""
    return [(1, b"".join(_heartbeat(f"c-{n}-{m}") for m in range(10))) for n in range(40)]


def expressions(_: Broker) -> Frames:
    """4,000 members of new consumer groups with regular expressions of 32,000 characters."""
    names = [[f"r-{n}-{m}" for m in range(100)] for n in range(40)]
    return [(1, b"".join(_heartbeat(name, regex="x" * 32_000) for name in part)) for part in names]


def tails(broker: Broker) -> Frames:
    """20 produces of 24 MiB each, of which one small batch is accepted."""
    create_topic(broker, "tail", 1)
    small = Batch(values=[b"v" * 100]).encode()
    refused = b"\0" * (24 * MIB)
    parts = [PartitionProduceData(index=0, records=small), PartitionProduceData(index=7, records=refused)]
    topic = TopicProduceData(name="tail", partition_data=parts)
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
    return [(1, request_frame(request, 9) * 20)]


def unknown_topics(_: Broker) -> Frames:
    """100 produces of 15 MB to a topic that does not exist."""
    part = PartitionProduceData(index=0, records=bytes(15_000_000))
    topic = TopicProduceData(name="no-such-topic", partition_data=[part])
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
    return [(10, request_frame(request, 9) * 10)]


def unread_metadata(broker: Broker) -> Frames:
    """400 clients that ask for the metadata of 50,000 partitions, three times, and read nothing."""
    _create_wide(broker)
    frame = request_frame(MetadataRequest(topics=None), 8)
    return [(400, frame * 3)]


def _create_wide(broker: Broker) -> None:
    with raw_client(broker) as client:
        # As many partitions as one request may create.
        for number in range(5):
            topic = CreatableTopic(
                name=f"wide-{number}", num_partitions=10_000, replication_factor=1, assignments=[], configs=[]
            )
            made = client.call(CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 5)
            assert made.topics[0].error_code == 0, made


def documented(broker: Broker) -> Frames:
    """24 requests of 120 KB for the configs of a topic, 8,000 times each, with their documentation."""
    create_topic(broker, "told", 1)
    told = DescribeConfigsResource(resource_type=2, resource_name="told", configuration_keys=None)
    request = DescribeConfigsRequest(resources=[told] * 8_000, include_documentation=True)
    return [(24, request_frame(request, 4))]


def directories(broker: Broker) -> Frames:
    """150 clients that ask for the sizes of 50,000 partitions."""
    _create_wide(broker)
    return [(150, request_frame(DescribeLogDirsRequest(topics=None), 1))]


def sentences(_: Broker) -> Frames:
    """8 clients that ask for the producers of nearly 200,000 partitions of a topic with a long wrong name."""
    topic = TopicRequest(name="w!" * 500, partition_indexes=list(range(PARTITIONS)))
    return [(8, request_frame(DescribeProducersRequest(topics=[topic]), 0))]


def unread_records(broker: Broker) -> Frames:
    """300 clients that ask for small batches between others, over and over, and read nothing."""
    create_topic(broker, "many", 2)
    value = Batch(values=[b"v" * 16_000]).encode()
    parts = [PartitionProduceData(index=index, records=value) for index in range(2)]
    topic = TopicProduceData(name="many", partition_data=parts)
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
    with raw_client(broker) as client:
        for _ in range(2_000):
            client.call(request, 9)
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=55 * MIB)
    frame = _fetch(FetchTopic(topic="many", partitions=[partition]), max_bytes=55 * MIB, max_wait_ms=0)
    return [(300, frame * 20)]


def many_names(_: Broker) -> Frames:
    """60 requests of 15 MB for the metadata of 500 names of 30,000 characters, one in each not ASCII."""
    names = [MetadataRequestTopic(name="x" * 30_000 + "\U0001f600") for _ in range(500)]
    return [(60, request_frame(MetadataRequest(topics=names, allow_auto_topic_creation=False), 8))]


def half_sent(_: Broker) -> Frames:
    """200 requests of 90 MiB, of which 4 MiB are sent."""
    return [(200, struct.pack(">i", 90 * MIB) + b"\0" * 4 * MIB)]


def pages(broker: Broker) -> Frames:
    """500 HTTP requests whose heads and bodies do not end."""
    head = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
    return [(250, head + b"X: " + b"x" * 30_000), (250, head + b"\r\n" + b"x" * 100_000)]


def idle(_: Broker) -> Frames:
    """9,000 connections that have asked for one thing."""
    return [(9_000, _fetch(FetchTopic(topic="none", partitions=[]), max_wait_ms=0))]


LOADS: dict[str, Load] = {
    load.__name__.replace("_", "-"): load
    for load in (
        sessions,
        parked,
        forgetting,
        sliced,
        joins,
        large_joins,
        small_joins,
        heartbeats,
        expressions,
        tails,
        unknown_topics,
        unread_metadata,
        documented,
        directories,
        sentences,
        unread_records,
        many_names,
        half_sent,
        pages,
        idle,
    )
}

READ_LOADS: Final = frozenset(
    {
        "sessions",
        "small-joins",
        "heartbeats",
        "expressions",
        "tails",
        "unknown-topics",
        "directories",
        "documented",
        "idle",
    }
)
"""Loads whose clients take their answers, as otherwise they would not be served to the end."""


def _partitions(count: int, *, same: bool = False) -> list[FetchPartition]:
    return [
        FetchPartition(
            partition=0 if same else 1_000 + number,
            fetch_offset=0 if same else 1_000_000 + number,
            partition_max_bytes=1_000_000 + number,
        )
        for number in range(count)
    ]


def _fetch(topic: FetchTopic, **fields: object) -> bytes:
    values = {"max_wait_ms": 600_000, "min_bytes": 1, "session_epoch": -1, **fields}
    return request_frame(FetchRequest(topics=[topic], **values), 11)  # type: ignore[arg-type]


def _join(group: str, size_bytes: int, *, client_id: str = "overload", version: int = 3) -> bytes:
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=1_800_000,
        rebalance_timeout_ms=1_800_000,
        member_id="",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\0" * size_bytes)],
    )
    return request_frame(request, version, client_id=client_id)


def _heartbeat(group: str, *, regex: str | None = None) -> bytes:
    names = [f"{group}-{number}".ljust(249, "x") for number in range(4_000)]
    request = ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="AAAAAAAAAAAAAAAAAAAAAA",
        member_epoch=0,
        rebalance_timeout_ms=300_000,
        subscribed_topic_names=names if regex is None else None,
        subscribed_topic_regex=regex,
        topic_partitions=[],
    )
    return request_frame(request, 1)


def peak_under(broker: Broker, name: str, *, seconds: float) -> tuple[float, float]:
    """Put a load on the broker for this long; return its peak, and its memory when all clients have left."""
    frames = LOADS[name](broker)
    port = broker.port if name != "pages" else _http_port(broker)
    with _Crowd(port, frames, reads=name in READ_LOADS) as crowd:
        crowd.send(seconds)
    time.sleep(1)
    return peak_memory_of(broker), memory_of(broker)


def _http_port(broker: Broker) -> int:
    found = re.search(r"health are at http://127\.0\.0\.1:(\d+)", broker.process.output())
    assert found, "the gateway serves no HTTP"
    return int(found[1])


class _Crowd:
    """Connections that send what they have, as fast as they may."""

    def __init__(self, port: int, frames: Frames, *, reads: bool) -> None:
        self._reads = reads
        self._left: dict[socket.socket, memoryview] = {}
        for count, data in frames:
            for _ in range(count):
                client = socket.create_connection((HOST, port), timeout=20)
                client.setblocking(False)
                self._left[client] = memoryview(data)

    def __enter__(self) -> _Crowd:
        return self

    def __exit__(self, *_: object) -> None:
        for client in self._left:
            client.close()

    def send(self, seconds: float) -> None:
        """Send for this long; answers are read or left alone."""
        poll = select.poll()
        numbers = {client.fileno(): client for client in self._left}
        for number in numbers:
            poll.register(number, select.POLLOUT | (select.POLLIN if self._reads else 0))
        deadline = time.monotonic() + seconds
        while numbers and time.monotonic() < deadline:
            for number, events in poll.poll(200):
                client = numbers[number]
                if not self._serve(client, events):
                    poll.unregister(number)
                    del numbers[number]
                elif not self._left[client]:
                    poll.modify(number, select.POLLIN if self._reads else 0)

    def _serve(self, client: socket.socket, events: int) -> bool:
        """Send and receive what is possible; return False when the connection has ended."""
        try:
            if events & select.POLLIN and not client.recv(1 << 18):
                return False
            if events & select.POLLOUT and self._left[client]:
                with contextlib.suppress(BlockingIOError):
                    self._left[client] = self._left[client][client.send(self._left[client][: 1 << 20]) :]
        except OSError:
            return False
        return not events & (select.POLLHUP | select.POLLERR)


def main() -> None:
    """Run the loads that are named, or all, each on a gateway of its own."""
    parser = argparse.ArgumentParser(prog="python -m compat_tests.overload.memory", description=__doc__)
    parser.add_argument("loads", nargs="*", choices=[*LOADS, []], metavar="LOAD")
    parser.add_argument("--seconds", type=float, default=8.0, help="how long each load lasts")
    parser.add_argument("--memory-group", type=Path, metavar="PATH", help="a control group for the gateway")
    arguments = parser.parse_args()
    for name in arguments.loads or LOADS:
        with tempfile.TemporaryDirectory(prefix="kawal-memory-") as directory:
            broker = KawalBroker(Path(directory), {"kawal.http.listen": f"{HOST}:0"})
            if arguments.memory_group:
                broker.wrap = MemoryGroup(arguments.memory_group).command
            broker.start()
            try:
                before = memory_of(broker)
                peak, after = peak_under(broker, name, seconds=arguments.seconds)
                print(f"{name}: {before:.0f} -> peak {peak:.0f} -> {after:.0f} MiB", flush=True)
            finally:
                broker.stop()


if __name__ == "__main__":
    main()
