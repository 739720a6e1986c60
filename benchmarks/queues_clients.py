"""Clients for bench_queues: members by Kafka's own client (ShareLoad.java), and on raw sockets."""

from __future__ import annotations

import selectors
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import UUID, uuid4

from benchmarks import proc
from benchmarks.servers import Server, java
from compat_tests.broker import Broker
from compat_tests.java import KAFKA_JARS
from compat_tests.test_share_groups import configure
from compat_tests.wire import RawClient
from protocol.error_codes import ErrorCode
from protocol.messages import share_acknowledge as acknowledging
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from protocol.messages.share_fetch import FetchPartition, FetchTopic, ShareFetchRequest
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

LOAD: Final = str(Path(__file__).parent / "clients" / "ShareLoad.java")
LOAD_FLAGS: Final = ("-Xmx512m", "-XX:+UseSerialGC", "-Dlog4j2.level=ERROR")
ACCEPT: Final = 1
GAVE_UP_SECONDS: Final = 170
JOINED_SECONDS: Final = 120


class Drained(NamedTuple):
    """Records that members took from a topic that was full."""

    per_second: float
    cpu_ms: float
    """The server's, for 1,000 records."""
    acknowledged: int
    delivered: int


class Paced(NamedTuple):
    """The time from sending a record to having it, in ms, and the server's processor time for 1,000."""

    median_ms: float
    p99_ms: float
    worst_ms: float
    cpu_ms: float


def drain(server: Server, topic: str, *, members: int, record_bytes: int, warm: int, count: int) -> Drained:
    """Fill a topic, and have members take and acknowledge each record."""
    (seconds, acknowledged, delivered), cpu = _load(
        server, "drain", topic, members, record_bytes, warm, count
    )
    return Drained(acknowledged / seconds, cpu * 1e6 / acknowledged, warm + int(acknowledged), int(delivered))


def paced(
    server: Server, topic: str, *, members: int, record_bytes: int, rate: int, warm: int, seconds: int
) -> Paced:
    """Produce at a rate while members wait for records."""
    figures, cpu = _load(server, "paced", topic, members, record_bytes, rate, warm, seconds)
    count, middle, p99, worst = figures
    return Paced(middle, p99, worst, cpu * 1e6 / count)


def _load(server: Server, load: str, topic: str, *numbers: int) -> tuple[list[float], float]:
    """Return the figures of a load, and the server's processor seconds from its start to its end."""
    configure(server, topic, share_auto_offset_reset="earliest")
    words = [server.bootstrap, load, topic, *map(str, numbers)]
    process = subprocess.Popen(
        [java(), *LOAD_FLAGS, "-cp", f"{KAFKA_JARS}/*", LOAD, *words],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        began = process.stdout.readline()
        before = proc.cpu_seconds(server.pid)
        done = process.stdout.readline().split()
        cpu = proc.cpu_seconds(server.pid) - before
    finally:
        process.kill()
        _, errors = process.communicate(timeout=GAVE_UP_SECONDS)
    assert (began.strip(), done[:1]) == ("began", ["done"]), f"{load}: {began}{done}{errors[-2_000:]}"
    return [float(word) for word in done[1:]], cpu


# --- raw sockets --------------------------------------------------------------------------------------------


class Member:
    """A member of a share group on a connection of its own."""

    def __init__(self, broker: Broker, group: str, topic: str, topic_id: UUID, partitions: int) -> None:
        self.client = RawClient(broker)
        self.group, self.topic, self.topic_id, self.partitions = group, topic, topic_id, partitions
        self.member_id = f"{uuid4()}"
        self.member_epoch = self.session_epoch = 0

    def ask(self) -> bool:
        """Send a heartbeat that joins; return whether all partitions are assigned now."""
        answer = self.client.call(self.heartbeat(0), 1)
        self.member_epoch = max(answer.member_epoch, 0)
        places = answer.assignment.topic_partitions if answer.assignment else []
        return sum(len(place.partitions) for place in places) == self.partitions

    def heartbeat(self, epoch: int) -> ShareGroupHeartbeatRequest:
        """Return a heartbeat; one that joins says the topic."""
        return ShareGroupHeartbeatRequest(
            group_id=self.group,
            member_id=self.member_id,
            member_epoch=epoch,
            subscribed_topic_names=None if epoch else [self.topic],
        )

    def fetch(self, *, max_wait_ms: int, max_records: int) -> ShareFetchRequest:
        """Return the next fetch; the first names all partitions."""
        places = [
            FetchPartition(partition_index=index, acknowledgement_batches=[])
            for index in range(self.partitions)
        ]
        request = ShareFetchRequest(
            group_id=self.group,
            member_id=self.member_id,
            share_session_epoch=self.session_epoch,
            max_wait_ms=max_wait_ms,
            min_bytes=1,
            max_bytes=50 << 20,
            max_records=max_records,
            batch_size=500,
            topics=[] if self.session_epoch else [FetchTopic(topic_id=self.topic_id, partitions=places)],
            forgotten_topics_data=[],
        )
        self.session_epoch += 1
        return request

    def acquire(self, count: int) -> dict[int, list[tuple[int, int]]]:
        """Fetch until so many records are acquired; return their offsets by partition."""
        found: dict[int, list[tuple[int, int]]] = {}
        left = count
        while left > 0:
            answer = self.client.call(self.fetch(max_wait_ms=500, max_records=left), 1)
            assert not answer.error_code, answer
            for place in (place for topic in answer.responses for place in topic.partitions):
                assert not place.error_code, place
                for part in place.acquired_records:
                    found.setdefault(place.partition_index, []).append((part.first_offset, part.last_offset))
                    left -= part.last_offset - part.first_offset + 1
        return found

    def accept_every_second(self, acquired: dict[int, list[tuple[int, int]]]) -> None:
        """Accept every second of the records, one partition in each request."""
        for index, ranges in acquired.items():
            batches = [
                acknowledging.AcknowledgementBatch(
                    first_offset=offset, last_offset=offset, acknowledge_types=[ACCEPT]
                )
                for first, last in ranges
                for offset in range(first + 1, last + 1, 2)
            ]
            place = acknowledging.AcknowledgePartition(partition_index=index, acknowledgement_batches=batches)
            request = acknowledging.ShareAcknowledgeRequest(
                group_id=self.group,
                member_id=self.member_id,
                share_session_epoch=self.session_epoch,
                topics=[acknowledging.AcknowledgeTopic(topic_id=self.topic_id, partitions=[place])],
            )
            self.session_epoch += 1
            answer = self.client.call(request, 1)
            codes = [part.error_code for topic in answer.responses for part in topic.partitions]
            assert (answer.error_code, codes) == (0, [ErrorCode.NONE]), answer


def join(members: Sequence[Member]) -> None:
    """Have members join, and wait until all partitions are assigned: groups take their time together."""
    deadline = time.monotonic() + JOINED_SECONDS
    members[0].client.call(FindCoordinatorRequest(key=members[0].group, key_type=0), 1)
    left = list(members)
    while left:
        left = [member for member in left if not member.ask()]
        assert time.monotonic() < deadline, f"{len(left)} members have no partitions"


def topic_id_of(broker: Broker, topic: str) -> UUID:
    """Return the id of a topic."""
    client = RawClient(broker)
    answer = client.call(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]), 12)
    client.close()
    found: UUID = answer.topics[0].topic_id
    return found


class _Idle:
    """The connection of an idle member: a fetch that waits, and a heartbeat every five seconds."""

    def __init__(self, member: Member, *, heartbeat_at: float) -> None:
        self.member = member
        self.heartbeat_at = heartbeat_at

    def beat(self, every_seconds: float) -> None:
        """Send a heartbeat; it is answered after the fetch."""
        self.member.client.send(self.member.heartbeat(self.member.member_epoch), 1)
        self.heartbeat_at += every_seconds

    def take(self) -> None:
        """Read an answer; a fetch is followed by the next one."""
        answer: Any = self.member.client.receive()
        assert not answer.error_code, answer
        if hasattr(answer, "responses"):
            self.fetch()

    def fetch(self) -> None:
        """Wait for records."""
        self.member.client.send(self.member.fetch(max_wait_ms=5_000, max_records=500), 1)


def idle(members: Sequence[Member], seconds: float) -> None:
    """Have members wait for records that do not come, and send heartbeats."""
    began = time.monotonic()
    waiting = [
        _Idle(member, heartbeat_at=began + 5 * number / len(members)) for number, member in enumerate(members)
    ]
    selector = selectors.DefaultSelector()
    for connection in waiting:
        selector.register(connection.member.client.socket, selectors.EVENT_READ, connection)
        connection.fetch()
    while time.monotonic() < began + seconds:
        for key, _ in selector.select(0.02):
            key.data.take()
        now = time.monotonic()
        for connection in waiting:
            if connection.heartbeat_at <= now:
                connection.beat(5.0)
    selector.close()
