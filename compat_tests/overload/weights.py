"""Loads that weigh: requests, sessions and groups for which the server keeps more than their bytes."""

from __future__ import annotations

import time
from contextlib import suppress

from compat_tests.batches import Batch
from compat_tests.overload.load import Target, create_topics, frame, load, rounds, stay
from compat_tests.wire import RawClient
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData

MIB = 1 << 20

UNKNOWN_PARTITIONS = 199_000
SESSIONS = 30
PARKED = 80
MEMBERS = 20
METADATA_BYTES = 15 * MIB
PINNING = 20
PINNED_BYTES = 23 * MIB


def _wide_fetch(count: int, *, topic: str, wait_ms: int, session_epoch: int) -> bytes:
    part = [
        FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1_000) for number in range(count)
    ]
    request = FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1 << 30,
        session_id=0,
        session_epoch=session_epoch,
        topics=[FetchTopic(topic=topic, partitions=part)],
    )
    return frame(request, 11)


def _answered(target: Target, data: bytes, count: int) -> list[RawClient]:
    """Send a request on so many new connections, one after the other, reading each answer."""
    from compat_tests.overload.load import skip_answer

    crowd = []
    for _ in range(count):
        client = target.client()
        client.socket.sendall(data)
        skip_answer(client)
        crowd.append(client)
    return crowd


@load("fetch-sessions")
def fetch_sessions(target: Target) -> str:
    """30 fetches open sessions of 199,000 partitions that are not there, and their clients leave."""
    data = _wide_fetch(target.dose(UNKNOWN_PARTITIONS), topic="nowhere", wait_ms=0, session_epoch=0)
    count = 0
    for number in rounds(target):
        for client in _answered(target, data, 1 if number < SESSIONS else 0):
            client.close()
            count += 1
        time.sleep(0.05)
    return f"{count} sessions asked for"


@load("parked-fetches", prepare=lambda target: create_topics(target, ["wide"], target.dose(20_000)))
def parked_fetches(target: Target) -> str:
    """80 fetches of 20,000 partitions each wait for data that never comes."""
    count = target.dose(20_000)
    wait_ms = int(target.seconds * 1000) + 60_000
    data = _wide_fetch(count, topic="wide", wait_ms=wait_ms, session_epoch=-1)
    crowd = _sent_by_many(target, data)
    stay(target.seconds)
    return f"{len(crowd)} fetches of {len(data) >> 10} KiB"


def _sent_by_many(target: Target, data: bytes) -> list[RawClient]:
    """Send a request on many connections, as far as they are read, and return them, to be kept."""
    crowd = [target.client() for _ in range(PARKED)]
    for client in crowd:
        client.socket.settimeout(1)
        with suppress(TimeoutError):
            client.socket.sendall(data)
    return crowd


@load("parked-again", prepare=lambda target: create_topics(target, ["wide"], target.dose(20_000)))
def parked_again(target: Target) -> str:
    """80 connections name one partition 199,000 times in a fetch that waits."""
    count = target.dose(UNKNOWN_PARTITIONS)
    same = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1_000)
    request = FetchRequest(
        max_wait_ms=int(target.seconds * 1000) + 60_000,
        min_bytes=1 << 30,
        topics=[FetchTopic(topic="wide", partitions=[same] * count)],
    )
    data = frame(request, 11)
    crowd = _sent_by_many(target, data)
    stay(target.seconds)
    return f"{len(crowd)} fetches of {len(data) >> 20} MiB"


@load("join-metadata", settings={"group.initial.rebalance.delay.ms": "0"})
def join_metadata(target: Target) -> str:
    """20 members join groups with 15 MiB of metadata each, and leave without a word."""
    sent = answered = 0
    metadata = bytes(target.dose(METADATA_BYTES))
    for number in rounds(target):
        if sent == MEMBERS:
            time.sleep(0.1)
            continue
        client = target.client()
        request = JoinGroupRequest(
            group_id=f"heavy-{number}",
            session_timeout_ms=30_000,
            rebalance_timeout_ms=1_000,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
        )
        sent += 1
        try:
            client.send(request, 3)
            client.socket.settimeout(20)
            answered += client.receive().error_code == 0
        except (AssertionError, OSError):
            pass
        finally:
            client.close()
    return f"{sent} members of {len(metadata) >> 20} MiB, {answered} accepted"


@load("pinned-requests", prepare=lambda target: create_topics(target, ["pinned"]))
def pinned_requests(target: Target) -> str:
    """20 requests of 23 MiB have one small batch that is accepted, and much that is refused."""
    small = PartitionProduceData(index=0, records=Batch().encode())
    junk = PartitionProduceData(index=1, records=bytes(MIB))
    count = target.dose(PINNED_BYTES) >> 20
    request = ProduceRequest(
        acks=-1,
        timeout_ms=1_000,
        topic_data=[TopicProduceData(name="pinned", partition_data=[small, *[junk] * count])],
    )
    data = frame(request, 9)
    sent = 0
    for number in rounds(target):
        if number < PINNING:
            for client in _answered(target, data, 1):
                client.close()
            sent += 1
        else:
            time.sleep(0.05)
    return f"{sent} requests of {len(data) >> 20} MiB"
