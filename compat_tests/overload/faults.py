"""Loads of wrong contents: each of them once ended the process, a connection, or every start after it."""

from __future__ import annotations

import struct
import time
import zlib

from compat_tests.batches import Batch
from compat_tests.hunt.records import record
from compat_tests.overload.load import Target, create_topics, frame, load, produce_many, repeated, rounds
from compat_tests.requests import fetch_request, list_offset, produce_request
from compat_tests.times import START_MS
from groups.record_schemas import RegularExpressionKey
from protocol.compression import Codec, compress
from protocol.messages.alter_configs import AlterableConfig, AlterConfigsRequest, AlterConfigsResource
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from protocol.wire import encode, joined

QUICK_UPKEEP = {
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.min.cleanable.ratio": "0",
    "log.retention.check.interval.ms": "500",
}

COMPACTED = {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0", "segment.ms": "100"}

OFFSETS_PARTITIONS = 50
GROUP_CONFIG = 32
UNREADABLE = (b"\x06\0\0\0", b"\0", b"\xff" * 11, b"\xfe\xff\xff\xff\x0f", b"\x80", b"")


@load(
    "short-records",
    prepare=lambda target: create_topics(target, ["compacted"], 1, COMPACTED),
    settings=QUICK_UPKEEP,
    restarts=True,
)
def short_records(target: Target) -> str:
    """Batches whose records are cut go into a compacted topic, and are compacted."""
    count = 0
    for number in rounds(target):
        codec = Codec(1 + number % 4)
        payload = compress(codec, UNREADABLE[number % len(UNREADABLE)])
        made = [
            Batch(attributes=codec, payload=payload, count=1),
            Batch(attributes=codec, payload=compress(codec, record(0, 0, b"k", b"v")), count=1),
        ]
        count += produce_many(target, [produce_request("compacted", batch) for batch in made])
        time.sleep(0.05)
    return f"{count} batches accepted"


def _first_group(target: Target) -> None:
    """Look for a coordinator, with which the topic of the offsets is made."""
    client = target.client()
    client.call(FindCoordinatorRequest(key="any", key_type=0), 3)
    client.close()


@load("wrong-regex", prepare=_first_group, restarts=True)
def wrong_regex(target: Target) -> str:
    """Write records of __consumer_offsets with patterns that are none, as an admin client by its own word."""
    count = 0
    client = target.client()
    for number in rounds(target):
        found = RegularExpressionKey(group_id=f"g{number}", regular_expression="([")
        key = struct.pack(">h", 16) + joined(encode(found, 0))
        value = struct.pack(">h", 0) + b"\x01" + bytes(17) + b"\0"
        batch = Batch(payload=record(0, 0, key, value), count=1)
        request = produce_request("__consumer_offsets", batch, partition=number % OFFSETS_PARTITIONS)
        answer = client.call(request, 9, client_id="__admin_client")
        count += answer.responses[0].partition_responses[0].error_code == 0
        time.sleep(0.01)
    return f"{count} records"


def _served_assignment(target: Target) -> None:
    client = target.client()
    config = AlterableConfig(name="kawal.group.assignor", value="server")
    for number in range(20):
        resource = AlterConfigsResource(
            resource_type=GROUP_CONFIG, resource_name=f"served-{number}", configs=[config]
        )
        client.call(AlterConfigsRequest(resources=[resource], validate_only=False), 1)
    client.close()


@load(
    "long-client-id",
    prepare=_served_assignment,
    settings={"group.initial.rebalance.delay.ms": "0"},
    restarts=True,
)
def long_client_id(target: Target) -> str:
    """Members with a client id of 32,750 characters join groups whose partitions the server assigns."""
    subscription = b"\0\1\0\0\0\1\0\4good\xff\xff\xff\xff"
    answered = 0
    for number in rounds(target):
        client = target.client()
        request = JoinGroupRequest(
            group_id=f"served-{number % 20}",
            session_timeout_ms=6_000,
            rebalance_timeout_ms=500,
            member_id="",
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=subscription)],
        )
        client.send(request, 3, client_id="x" * 32_750)
        client.socket.settimeout(5)
        answered += client.receive().error_code == 0
        client.close()
    return f"{answered} members joined"


@load("lying-counts", prepare=lambda target: create_topics(target, ["lies"]), restarts=True)
def lying_counts(target: Target) -> str:
    """Compressed batches of 81 bytes that claim 2^31-1 records, one after the other."""
    payload = zlib.compress(bytes(20), 9, 31)
    batch = Batch(attributes=1, payload=payload, count=2**31 - 1, last_offset_delta=2**31 - 2)
    believable = Batch(
        attributes=4, payload=compress(4, bytes(1 << 16)), count=9_000, last_offset_delta=8_999
    )
    accepted = 0
    for _ in rounds(target):
        made = [produce_request("lies", batch), produce_request("lies", believable)]
        accepted += produce_many(target, made * 50)
    return f"{accepted} accepted"


@load("client-ids")
def client_ids(target: Target) -> str:
    """Client ids that are not UTF-8: each must get its answer."""
    from protocol.messages.metadata import MetadataRequest

    made = bytearray(frame(MetadataRequest(topics=[]), 9))
    at = made.index(b"overload")
    made[at : at + 8] = b"\xff\xfe\xc0\xaf\xed\xa0\x80\xf0"
    said = repeated(target, [bytes(made)], pipelined=20)
    assert "closed" not in said, said
    return said


MIN_BYTES = 1 << 20
WAIT_MS = 2_000


def _compressible(target: Target) -> None:
    create_topics(target, ["full"], 1)
    batch = Batch(values=[b"x" * 90_000])
    produce_many(target, [produce_request("full", batch)] * 100)


@load("min-bytes", prepare=_compressible)
def min_bytes(target: Target) -> str:
    """Consume with a fetch.min.bytes of the partition's limit, which whole batches do not fill."""
    client = target.client()
    fetched = size = 0
    began = time.monotonic()
    for _ in rounds(target):
        request = fetch_request(
            "full", 0, partition_max_bytes=MIN_BYTES, min_bytes=MIN_BYTES, max_wait_ms=WAIT_MS
        )
        size += len(client.call(request, 11).responses[0].partitions[0].records)
        fetched += 1
    each_ms = 1000 * (time.monotonic() - began) / fetched
    assert each_ms < WAIT_MS / 2, f"fetches wait {each_ms:.0f} ms although there is more than they may have"
    return f"{fetched} fetches of {size // fetched} bytes, {each_ms:.1f} ms each"


def _unopenable(target: Target) -> None:
    create_topics(target, ["unopenable"], 3, {"max.message.bytes": "20000000"})
    bomb = compress(4, bytes(300 << 20))
    made = [
        Batch(attributes=4, payload=b"not zstd at all", count=1),
        Batch(attributes=4, payload=bomb, count=1_000, last_offset_delta=999),
        Batch(attributes=1, payload=compress(1, bytes(40 << 20)), count=1_000, last_offset_delta=999),
    ]
    for partition, batch in enumerate(made):
        produce_many(target, [produce_request("unopenable", batch, partition=partition)])


@load("unopenable", prepare=_unopenable)
def unopenable(target: Target) -> str:
    """Lookups by time in batches that cannot be opened, or expand a thousandfold: each gets an answer."""
    codes: set[int] = set()
    count = 0
    client = target.client()
    for number in rounds(target):
        found = list_offset(client, "unopenable", START_MS, partition=number % 3)
        codes.add(found.error_code)
        count += 1
    return f"{count} lookups, codes {sorted(codes)}"
