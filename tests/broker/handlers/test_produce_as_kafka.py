"""Produce in odd cases; the codes, and the fields with them, are those of Apache Kafka 4.3.1."""

from __future__ import annotations

from typing import Any

from broker.storage.inspection import RECORD_ERRORS_MAX
from broker.storage.produce_times import DOUBTFUL_RECORDS_MAX
from protocol.error_codes import ErrorCode
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import read_batch_header
from tests.broker.gateway import START_MS, Client
from tests.broker.handlers.topics import create
from tests.broker.kit import fetch

APPEND_TIME_BIT = 8


def batch(key: bytes | None = None, count: int = 2) -> bytearray:
    return bytearray(encode_batch([Record(i, START_MS, key, b"v") for i in range(count)]))


def with_attributes(data: bytearray, attributes: int, **fields: Any) -> bytes:
    from protocol.records import HEADER, BatchHeader, computed_crc

    header = BatchHeader._make(HEADER.unpack_from(data))._replace(attributes=attributes, **fields)
    HEADER.pack_into(data, 0, *header)
    header = header._replace(crc=computed_crc(data, len(data)))
    HEADER.pack_into(data, 0, *header)
    return bytes(data)


def produce(client: Client, *topics: tuple[str, list[tuple[int, bytes]]], acks: int = -1) -> Any:
    data = [
        TopicProduceData(
            name=name,
            partition_data=[PartitionProduceData(index=index, records=records) for index, records in parts],
        )
        for name, parts in topics
    ]
    return client.call(ProduceRequest(acks=acks, timeout_ms=1000, topic_data=data), 9).responses


def test_a_topic_named_without_partitions_is_left_out_of_the_answer(client: Client) -> None:
    create(client, "t")
    answers = produce(client, ("t", []), ("t", [(0, bytes(batch()))]))
    assert [(answer.name, len(answer.partition_responses)) for answer in answers] == [("t", 1)]


def test_a_missing_partition_is_told_before_wrong_acks(client: Client) -> None:
    create(client, "t")
    answers = produce(client, ("t", [(0, bytes(batch())), (1, bytes(batch()))]), acks=2)
    codes = [part.error_code for part in answers[0].partition_responses]
    assert codes == [ErrorCode.INVALID_REQUIRED_ACKS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_each_record_without_key_is_named_on_a_compacted_topic(client: Client) -> None:
    create(client, "t", cleanup_policy="compact")
    (answer,) = produce(client, ("t", [(0, bytes(batch(count=3)))]))[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [0, 1, 2]
    assert answer.log_start_offset == 0


def test_a_producer_may_not_claim_append_time_on_a_topic_of_append_time(client: Client) -> None:
    create(client, "t", message_timestamp_type="LogAppendTime")
    data = with_attributes(batch(), APPEND_TIME_BIT)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [0, 1]
    assert "LogAppendTime" in answer.record_errors[0].batch_index_error_message


def test_claimed_append_time_is_dropped_on_a_topic_of_create_time(client: Client) -> None:
    create(client, "t")
    data = with_attributes(batch(), APPEND_TIME_BIT)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert (answer.error_code, answer.log_append_time_ms) == (0, -1)


def test_claimed_append_time_without_any_time_is_refused(client: Client) -> None:
    create(client, "t")
    data = with_attributes(batch(), APPEND_TIME_BIT, max_timestamp=-1)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP


def test_a_batch_of_very_many_records_without_a_credible_time_is_refused_unread(client: Client) -> None:
    create(client, "t")
    create(client, "appended", message_timestamp_type="LogAppendTime")
    data = with_attributes(batch(count=DOUBTFUL_RECORDS_MAX + 1), 0, max_timestamp=2**62)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert (answer.error_code, answer.record_errors) == (ErrorCode.INVALID_TIMESTAMP, [])
    assert f"{DOUBTFUL_RECORDS_MAX + 1} records" in answer.error_message
    data = with_attributes(batch(count=DOUBTFUL_RECORDS_MAX), APPEND_TIME_BIT)
    (answer,) = produce(client, ("appended", [(0, data)]))[0].partition_responses
    assert (answer.error_code, len(answer.record_errors)) == (ErrorCode.INVALID_TIMESTAMP, RECORD_ERRORS_MAX)


def test_the_greatest_time_of_records_before_1970_is_none(client: Client) -> None:
    create(client, "t")
    early = bytearray(encode_batch([Record(index, -1_000 - index, None, b"v") for index in range(2)]))
    (answer,) = produce(client, ("t", [(0, with_attributes(early, 0, max_timestamp=-7))]))[
        0
    ].partition_responses
    assert answer.error_code == 0
    stored = fetch(client, "t").records
    assert read_batch_header(stored).max_timestamp == -1


def test_a_doubtful_batch_of_as_many_records_as_are_read_is_corrected(client: Client) -> None:
    create(client, "t")
    data = with_attributes(batch(count=DOUBTFUL_RECORDS_MAX), 0, max_timestamp=2**62)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert answer.error_code == 0


def test_a_refusal_by_the_log_tells_where_the_log_starts(client: Client) -> None:
    create(client, "t")
    data = with_attributes(batch(), 0, last_offset_delta=5)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.INVALID_RECORD, 0)


def test_damaged_bytes_tell_nothing_of_the_log(client: Client) -> None:
    create(client, "t")
    data = bytes(batch())[:-1] + b"x"
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert (answer.error_code, answer.log_start_offset) == (ErrorCode.CORRUPT_MESSAGE, -1)


def test_a_batch_whose_header_alone_is_in_the_future_is_corrected(client: Client) -> None:
    create(client, "t")
    data = with_attributes(batch(), 0, max_timestamp=2**62)
    (answer,) = produce(client, ("t", [(0, data)]))[0].partition_responses
    assert (answer.error_code, answer.base_offset) == (0, 0)
    asked = ListOffsetsPartition(partition_index=0, timestamp=-3)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    assert client.call(request, 7).topics[0].partitions[0].timestamp == START_MS


def test_records_in_the_future_are_named(client: Client) -> None:
    create(client, "t")
    late = [Record(0, START_MS, None, b"v"), Record(1, START_MS + 2 * 3_600_000, None, b"v")]
    (answer,) = produce(client, ("t", [(0, bytes(encode_batch(late)))]))[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_TIMESTAMP
    assert [error.batch_index for error in answer.record_errors] == [1]
