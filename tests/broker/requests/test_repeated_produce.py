"""A request that repeats another is not decoded, and is answered and stored as it would be if it were."""

from __future__ import annotations

import errno
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker.requests import dispatcher
from broker.requests.repeated_produce import HEADS_MAX, RepeatedProduces
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest
from protocol.records import TRANSACTIONAL, iter_batches, renew_crc
from protocol.wire import ZERO_UUID, decode
from tests.broker import client_quotas
from tests.broker.gateway import START_MS, Client, Gateway, request_frame, take_outgoing
from tests.broker.kit import batch, create, fetch, outcomes, producing, read, send
from tests.broker.topic_changes import alter, delete
from wal.memory_faults import failing

VERSIONS = range(3, 14)


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return the versions of the Produce requests that were decoded."""
    found: list[int] = []

    def noting(cls: type[Any], version: int, *arguments: Any) -> Any:
        if cls is ProduceRequest:
            found.append(version)
        return decode(cls, version, *arguments)

    monkeypatch.setattr(dispatcher, "decode", noting)
    return found


def produce(client: Client, *values: bytes, version: int = 10, name: str = "t", topic_id: Any = None) -> Any:
    asked = producing((name if version < 13 else "", 0, batch(*values)), topic_id=topic_id or ZERO_UUID)
    return outcomes(client.call(asked, version))[0]


@pytest.mark.parametrize("version", VERSIONS)
def test_only_the_first_request_with_a_head_is_decoded(
    client: Client, decoded: list[int], version: int
) -> None:
    topic_id = create(client, "t")
    found = [
        produce(client, b"v" * size, b"w", version=version, topic_id=topic_id).base_offset
        for size in (1, 100, 20_000, 70_000)
    ]
    assert (found, decoded) == ([0, 2, 4, 6], [version])
    assert len(read(client, "t")) == 8


def test_clients_share_what_is_known(gateway: Gateway, client: Client, decoded: list[int]) -> None:
    create(client, "t", partitions=2)
    assert send(client, "t", batch(b"a"), 0).error_code == 0
    assert send(gateway.client("10.0.0.8"), "t", batch(b"b"), 0).base_offset == 1
    assert send(client, "t", batch(b"c"), 1).base_offset == 0
    assert decoded == [9, 9]


SPECIAL: dict[str, dict[str, Any]] = {
    "read only": {"kawal_read_only": "true"},
    "compacted": {"cleanup_policy": "compact"},
    "checked": {"kawal_check_records": "open"},
    "deduplicated": {"kawal_dedup": "seqno"},
    "bounded": {"kawal_max_partition_bytes": "1000000"},
    "slow": {"kawal_partition_write_bytes_per_sec": "1000000"},
    "a queue": {"kawal_queue_max_records": "100"},
    "one codec": {"kawal_codecs_allowed": "none"},
}


@pytest.mark.parametrize("configs", SPECIAL.values(), ids=SPECIAL)
def test_topics_with_rules_for_batches_are_never_known(
    client: Client, decoded: list[int], configs: dict[str, Any]
) -> None:
    create(client, "t", **configs)
    produce(client, b"a")
    produce(client, b"b")
    assert decoded == [10, 10]


def test_a_changed_setting_counts_for_the_next_request(client: Client, decoded: list[int]) -> None:
    create(client, "t")
    assert produce(client, b"a").error_code == 0
    alter(client, "t", "max.message.bytes", "100")
    assert produce(client, b"b" * 200).error_code == ErrorCode.MESSAGE_TOO_LARGE
    alter(client, "t", "kawal.read.only", "true")
    assert produce(client, b"c").error_code == ErrorCode.POLICY_VIOLATION
    assert len(decoded) == 3


def test_a_topic_made_anew_under_its_name_is_another(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    assert [produce(client, b"a").base_offset for _ in range(2)] == [0, 1]
    delete(gateway, "t")
    assert produce(client, b"b").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    create(client, "t")
    assert [produce(client, b"c").base_offset for _ in range(2)] == [0, 1]


def test_a_quota_counts_from_the_next_request_on(client: Client, decoded: list[int]) -> None:
    create(client, "t")
    produce(client, b"a")
    client_quotas.alter(client, {"user": None}, ("producer_byte_rate", 1.0))
    produce(client, b"b")
    assert len(decoded) == 2


def test_lost_records_are_told(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    assert produce(client, b"a").error_code == 0
    gateway.disk.faults.append(failing("sync", errno.EIO, path="vnode"))
    answer = produce(client, b"b")
    assert (answer.error_code, answer.base_offset) == (ErrorCode.KAFKA_STORAGE_ERROR, -1)
    gateway.advance(2_000)
    assert produce(client, b"c").base_offset == 1
    assert read(client, "t") == [b"a", b"c"]


def test_heads_that_are_made_up_do_not_pile_up(gateway: Gateway, client: Client) -> None:
    create(client, "t")
    repeats = gateway.broker._dispatcher._repeats
    assert repeats is not None
    known = repeats._known
    body = producing(("t", 0, batch(b"a")))
    for number in range(HEADS_MAX + 10):
        body.timeout_ms = number
        client.send(body, 10)
        if not number % 50:
            gateway.settle()
            client.answers()
    assert 0 < len(known) <= HEADS_MAX


def corrupt(data: bytearray) -> bytearray:
    data[-1] ^= 1
    return data


def transactional(data: bytearray) -> bytearray:
    data[22] |= TRANSACTIONAL
    renew_crc(data)
    return data


BATCHES: list[Callable[[], bytearray | None]] = [
    lambda: batch(b"a"),
    lambda: batch(b"b" * 300, b"c"),
    lambda: batch(b"d" * 70_000, codec=Codec.GZIP),
    lambda: corrupt(batch(b"e")),
    lambda: transactional(batch(b"f")),
    lambda: batch(b"g", timestamp_ms=START_MS + 10**12),
    lambda: batch(b"h") + batch(b"i"),
    lambda: batch(b"j") + b"stray",
    lambda: bytearray(),
    lambda: None,
    lambda: batch(b"k" * 2_000_000),
    lambda: batch(b"l", producer=(7, 0, 0)),
    lambda: batch(b"m", producer=(7, 0, 1)),
    lambda: batch(b"n", producer=(7, 0, 9)),
]


@contextmanager
def decoding_all(patch: pytest.MonkeyPatch) -> Iterator[None]:
    with patch.context() as context:
        context.setattr(RepeatedProduces, "serve", lambda _repeats, _connection, data, *_: data)
        yield


def course(steps: list[tuple[int, int, int]], configs: dict[str, Any]) -> tuple[bytes, list[bytes]]:
    """Return all answers to these requests (kind of batch, version, partition), and the batches stored.

    Three at a time come together.
    """
    gateway = Gateway()
    client = gateway.client()
    topic_id = create(client, "t", partitions=2, **configs)
    answers = frames = b""
    for number, (kind, version, partition) in enumerate(steps):
        body = producing(("" if version == 13 else "t", partition, BATCHES[kind]()), topic_id=topic_id)
        frames += request_frame(body, version, number)
        if number % 3 == 2:
            client.send_bytes(frames)
            frames = b""
            gateway.settle()
            answers += take_outgoing(client.connection)
    client.send_bytes(frames)
    gateway.settle()
    answers += take_outgoing(client.connection)
    assert client.connection.request_bytes == 0, "all memory is accounted for"
    answers = answers.replace(topic_id.bytes, bytes(16))
    return answers, [
        bytes(stored) for part in (0, 1) for stored in iter_batches(fetch(client, "t", part).records)
    ]


@settings(max_examples=60, deadline=None)
@given(
    steps=st.lists(
        st.tuples(
            st.integers(0, len(BATCHES) - 1), st.sampled_from([3, 4, 5, 8, 9, 10, 12, 13]), st.integers(0, 2)
        ),
        max_size=12,
    ),
    configs=st.sampled_from([{}, {"message_timestamp_type": "LogAppendTime"}, {"max_message_bytes": "200"}]),
)
def test_answers_and_records_are_those_of_the_ordinary_way(
    steps: list[tuple[int, int, int]], configs: dict[str, Any]
) -> None:
    found = course(steps * 2, configs)
    with pytest.MonkeyPatch.context() as patch, decoding_all(patch):
        assert found == course(steps * 2, configs)


@settings(max_examples=300, deadline=None)
@given(
    place=st.integers(4, 200),
    value=st.integers(0, 255),
    cut=st.integers(0, 60),
    version=st.sampled_from([4, 7, 10]),
)
def test_a_damaged_repetition_is_treated_as_by_the_ordinary_way(
    place: int, value: int, cut: int, version: int
) -> None:
    """One byte anywhere is another, or the request ends early: no answer may differ."""

    def answered() -> tuple[bytes, str | None]:
        gateway = Gateway()
        gateway.break_things()
        client = gateway.client()
        create(client, "t")
        frame = bytearray(request_frame(producing(("t", 0, batch(b"value"))), version, 1))
        client.send_bytes(bytes(frame))
        frame[min(place, len(frame) - 1)] = value
        if cut < 30:
            frame = bytearray(struct.pack(">i", len(frame) - 4 - cut)) + frame[4 : len(frame) - cut]
        client.send_bytes(bytes(frame))
        gateway.settle()
        return take_outgoing(client.connection), client.connection.close_reason

    found = answered()
    with pytest.MonkeyPatch.context() as patch, decoding_all(patch):
        assert found == answered()


@pytest.mark.parametrize("version", [8, 9])
def test_a_request_that_ends_with_a_known_head_is_no_error_of_ours(
    gateway: Gateway, client: Client, version: int
) -> None:
    create(client, "t")
    whole = batch(b"v" * 100)
    frame = request_frame(producing(("t", 0, whole)), version, 7)
    head = frame[4 : frame.index(whole) - (4 if version < 9 else 2)]
    assert produce(client, b"a", version=version).base_offset == 0
    other = gateway.client()
    other.send_bytes(struct.pack(">i", len(head)) + head)
    assert other.connection.close_reason is not None
    assert not any(gateway.broker.internal_errors.counts.values())
    assert produce(client, b"b", version=version).base_offset == 1


@pytest.mark.parametrize("version", [7, 9])
def test_heads_of_several_sizes_are_all_known(client: Client, decoded: list[int], version: int) -> None:
    names = ["t", "a-longer-name", "tt"]
    for name in names:
        create(client, name)
    for offset in range(3):
        for name in names:
            assert produce(client, b"v", version=version, name=name).base_offset == offset
    assert decoded == [version] * len(names)
