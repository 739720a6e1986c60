"""Appending one batch: checked, stamped and remembered, or refused without a trace."""

from __future__ import annotations

from typing import Any

import pytest

from broker.errors import RequestError
from broker.storage.append import AppendResult, append_batch
from broker.storage.inspection import RECORD_ERRORS_MAX
from broker.storage.partition import Partition
from broker.storage.produce_times import UnreadTimes
from protocol.error_codes import ErrorCode
from protocol.messages.produce import ProduceRequest
from protocol.records import check_crc, read_batch_header
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create


class FakeCall:
    """A produce call, as far as appending looks at it."""

    def __init__(self, *, version: int = 9, data_owned: bool = True, received_ms: int = START_MS) -> None:
        self.version = version
        self.data_owned = data_owned
        self.received_ms = received_ms
        self.request = ProduceRequest(acks=-1, timeout_ms=0, topic_data=[])


def partition_of(**configs: str) -> tuple[Gateway, Partition]:
    gateway = Gateway()
    create(gateway.client(), "t", 1, **configs)
    return gateway, gateway.partition("t")


def append(gateway: Gateway, partition: Partition, records: Any, **call: Any) -> AppendResult:
    fake: Any = FakeCall(**call)
    settings = gateway.broker.topics.settings(partition.topic)
    wall_ms = gateway.broker.clock.wall_ms(fake.received_ms)
    try:
        result = append_batch(fake, partition, records, settings=settings, wall_ms=wall_ms)
    except UnreadTimes as unread:
        read = unread.made()
        result = append_batch(fake, partition, records, settings=settings, wall_ms=wall_ms, read_times=read)
    assert isinstance(result, AppendResult)
    return result


def test_versions_rise_with_every_append_and_are_told() -> None:
    gateway, partition = partition_of()
    first = append(gateway, partition, batch(b"a", b"b"))
    second = append(gateway, partition, batch(b"c"))
    assert (first.base_offset, second.base_offset) == (0, 2)
    assert second.version > first.version
    assert partition.vnode.last_version == second.version


def test_bytes_of_an_owned_frame_are_kept_and_patched_where_they_are() -> None:
    gateway, partition = partition_of()
    append(gateway, partition, batch(b"before"))
    data = batch(b"a")
    append(gateway, partition, memoryview(data))
    assert read_batch_header(data).base_offset == 1
    assert check_crc(data)


def test_bytes_of_a_borrowed_frame_are_copied_and_left_alone() -> None:
    gateway, partition = partition_of()
    append(gateway, partition, batch(b"before"))
    data = batch(b"a")
    before = bytes(data)
    append(gateway, partition, memoryview(data), data_owned=False)
    assert bytes(data) == before
    data[:] = bytes(len(data))
    gateway.settle()
    stored = partition.vnode.log.read(partition.stream_id, 1, 1_000).parts
    assert check_crc(b"".join(bytes(part) for part in stored))  # type: ignore[arg-type]


def test_the_append_time_is_the_wall_clock_of_the_request() -> None:
    gateway, partition = partition_of(message_timestamp_type="LogAppendTime")
    gateway.broker.set_clocks(now_ms=START_MS, wall_ms=START_MS + 77)
    result = append(gateway, partition, batch(b"a"), received_ms=START_MS + 5)
    assert result.append_time_ms == START_MS + 82


def test_a_duplicate_waits_for_all_there_is() -> None:
    gateway, partition = partition_of()
    append(gateway, partition, batch(b"a", producer=(4, 0, 0)))
    last = append(gateway, partition, batch(b"b", producer=(4, 0, 1)))
    again = append(gateway, partition, batch(b"a", producer=(4, 0, 0)))
    assert (again.base_offset, again.append_time_ms, again.version) == (0, START_MS, last.version)


def test_not_more_records_are_blamed_than_an_answer_should_hold() -> None:
    gateway, partition = partition_of(message_timestamp_before_max_ms="0")
    data = batch(*[b""] * (RECORD_ERRORS_MAX + 5), timestamp_ms=1)
    with pytest.raises(RequestError) as refused:
        append(gateway, partition, data)
    assert refused.value.code == ErrorCode.INVALID_TIMESTAMP
    assert len(refused.value.record_errors) == RECORD_ERRORS_MAX
    assert partition.vnode.log.next_offset(partition.stream_id) == 0


def test_a_batch_larger_than_a_segment_of_its_topic_is_refused() -> None:
    gateway, partition = partition_of(**{"segment.bytes": "1048576", "max.message.bytes": "3000000"})
    fits, larger = batch(b"x" * 1_000_000), batch(b"x" * 1_048_577)
    assert append(gateway, partition, fits).base_offset == 0
    with pytest.raises(
        RequestError, match=r"segment of the topic has at most 1048576 \(segment.bytes\)"
    ) as refused:
        append(gateway, partition, larger)
    assert refused.value.code == ErrorCode.RECORD_LIST_TOO_LARGE


def test_a_stream_that_is_going_takes_nothing() -> None:
    gateway, partition = partition_of()
    append(gateway, partition, batch(b"a"))
    gateway.settle()
    partition.vnode.log.drop_stream(partition.stream_id)
    with pytest.raises(RequestError) as refused:
        append(gateway, partition, batch(b"b"))
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
