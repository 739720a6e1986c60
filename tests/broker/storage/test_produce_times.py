"""The timestamps of produced batches; tests/broker/handlers has those that clients can see."""

from __future__ import annotations

import struct
from dataclasses import replace

import pytest

from broker.config.topic_settings import TopicSettings
from broker.errors import RequestError
from broker.storage.produce_times import DOUBTFUL_RECORDS_MAX, stamp_times
from protocol.error_codes import ErrorCode
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
