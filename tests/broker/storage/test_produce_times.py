"""The timestamps of produced batches; tests/broker/handlers has those that clients can see."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.inspection import INSPECTED_RECORDS_MAX
from broker.storage.produce_times import DOUBTFUL_RECORDS_MAX, UnreadTimes, read_times, stamp_times
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import check_crc, read_batch_header, renew_crc
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create

HOUR_MS = 3_600_000


@pytest.fixture
def settings(gateway: Gateway) -> TopicSettings:
    create(gateway.client(), "t")
    return gateway.broker.topics.settings(gateway.broker.find_topic("t"))


def stamp(data: bytearray, settings: TopicSettings, times: tuple[int, int] | None = None) -> int:
    return stamp_times(memoryview(data), read_batch_header(data), settings, START_MS, times)


def test_a_batch_in_time_is_left_alone(settings: TopicSettings) -> None:
    data = batch(b"a")
    before = bytes(data)
    assert stamp(data, settings) == -1
    assert data == before


def test_append_time_is_written_into_the_batch(settings: TopicSettings) -> None:
    data = batch(b"a", timestamp_ms=5)
    assert stamp(data, replace(settings, message_timestamp_type="LogAppendTime")) == START_MS
    assert (read_batch_header(data).max_timestamp, check_crc(data)) == (START_MS, True)


def test_times_that_were_read_replace_what_the_header_says(settings: TopicSettings) -> None:
    data = batch(b"a", b"b")
    assert stamp(data, settings, (START_MS, START_MS + 9)) == -1
    assert (read_batch_header(data).max_timestamp, check_crc(data)) == (START_MS + 9, True)


def test_times_that_were_read_and_are_out_of_range_name_their_records(settings: TopicSettings) -> None:
    data = batch(b"a", timestamp_ms=START_MS + 2 * HOUR_MS)
    with pytest.raises(RequestError) as refused:
        stamp(data, settings, (START_MS + 2 * HOUR_MS, START_MS + 2 * HOUR_MS))
    assert refused.value.code == ErrorCode.INVALID_TIMESTAMP
    assert [index for index, _ in refused.value.record_errors] == [0]


def test_many_records_with_a_doubtful_header_are_not_read(settings: TopicSettings) -> None:
    data = batch(b"a", timestamp_ms=START_MS + 2 * HOUR_MS)
    struct.pack_into(">i", data, 57, DOUBTFUL_RECORDS_MAX + 1)
    renew_crc(data)
    with pytest.raises(RequestError, match="has 20001 records"):
        stamp(data, settings)


def packed(count: int, timestamp_ms: int) -> bytearray:
    """Return a gzip batch that opens to a hundred times its size, and whose header gives no time."""
    data = batch(*[bytes(100)] * count, codec=Codec.GZIP, timestamp_ms=timestamp_ms)
    struct.pack_into(">q", data, 35, -1)
    renew_crc(data)
    return data


def test_many_records_whose_times_count_are_read_by_a_thread(settings: TopicSettings) -> None:
    data = packed(INSPECTED_RECORDS_MAX + 1, START_MS)
    before = bytes(data)
    with pytest.raises(UnreadTimes) as unread:
        stamp(data, settings)
    assert data == before
    read = unread.value.made()
    assert stamp_times(memoryview(data), read_batch_header(data), settings, START_MS, None, read) == -1
    assert (read_batch_header(data).max_timestamp, check_crc(data)) == (START_MS, True)


def test_times_that_a_thread_has_read_are_judged_by_the_settings_of_now(settings: TopicSettings) -> None:
    data = packed(INSPECTED_RECORDS_MAX + 1, START_MS + 2 * HOUR_MS)
    read = read_times(memoryview(data), settings, START_MS)
    with pytest.raises(RequestError, match="invalid timestamp") as refused:
        stamp_times(memoryview(data), read_batch_header(data), settings, START_MS, None, read)
    assert len(refused.value.record_errors) == INSPECTED_RECORDS_MAX + 1
    later = replace(settings, message_timestamp_after_max_ms=3 * HOUR_MS)
    with pytest.raises(UnreadTimes):
        stamp_times(memoryview(data), read_batch_header(data), later, START_MS, None, read)


def test_a_batch_that_a_thread_cannot_read_is_refused(settings: TopicSettings) -> None:
    data = packed(INSPECTED_RECORDS_MAX + 1, START_MS)
    data[61] ^= 0xFF
    renew_crc(data)
    read = read_times(memoryview(data), settings, START_MS)
    with pytest.raises(RequestError, match="gzip data at byte 0") as refused:
        stamp_times(memoryview(data), read_batch_header(data), settings, START_MS, None, read)
    assert refused.value.code == ErrorCode.INVALID_RECORD


@pytest.mark.parametrize("timestamps", [(7,), (3, 900, 20), (-1, -1), (-2,), (-2, -5), (0,)])
@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_a_wrong_max_timestamp_is_corrected_from_the_records(
    settings: TopicSettings, timestamps: tuple[int, ...], codec: Codec
) -> None:
    data = encode_batch(
        [Record(offset, time, None, b"v") for offset, time in enumerate(timestamps)], codec=codec
    )
    data[35:43] = bytes(8)
    assert read_times(memoryview(data), settings, START_MS).greatest == max(-1, -1, *timestamps)
