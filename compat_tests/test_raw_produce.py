"""Produce on the wire: what a broker takes, corrects and refuses, batch by batch."""

from __future__ import annotations

import time

import pytest

from compat_tests.batches import CODECS, Batch, old_message
from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.requests import fetched_batches, list_offset, produce, produce_request, topic_id
from compat_tests.times import START_MS
from compat_tests.wire import RawClient, raw_client
from protocol.compression import compress

CORRUPT_MESSAGE, UNKNOWN_TOPIC, MESSAGE_TOO_LARGE, INVALID_ACKS = 2, 3, 10, 21
UNSUPPORTED_COMPRESSION, INVALID_RECORD, UNKNOWN_TOPIC_ID, TRANSACTIONAL_ID_MISMATCH = 76, 87, 100, 53
APPEND_TIME_BIT, TRANSACTIONAL_BIT, CONTROL_BIT = 0x08, 0x10, 0x20


@pytest.mark.parametrize("version", range(3, 13))
def test_every_version_stores_a_batch(raw: RawClient, make_topic: MakeTopic, version: int) -> None:
    topic = make_topic()
    part = produce(raw, topic, Batch(values=[b"a", b"b"]), version=version)
    assert (part.error_code, part.base_offset, part.log_append_time_ms) == (0, 0, -1)
    assert part.log_start_offset == (0 if version >= 5 else -1)
    assert produce(raw, topic, Batch(), version=version).base_offset == 2


def test_version_13_names_topics_by_id(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity = topic_id(raw, topic)
    assert produce(raw, identity, Batch(), version=13).base_offset == 0
    unknown = identity.__class__(int=identity.int ^ 1)
    assert produce(raw, unknown, Batch(), version=13).error_code == UNKNOWN_TOPIC_ID


def test_a_batch_is_stored_verbatim_but_for_offset_and_leader_epoch(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    produce(raw, topic, Batch())
    sent = Batch(
        values=[b"a" * 100, b"b", b""], timestamp_deltas=[0, 5, 3], base_timestamp=START_MS + 7
    ).encode()
    produce(raw, topic, sent)
    (stored,) = fetched_batches(raw, topic, 1)
    assert (stored.base_offset, stored.last_offset, stored.leader_epoch) == (1, 3, 0)
    assert stored.data[16:] == sent[16:]
    assert stored.data[8:12] == sent[8:12]


@pytest.mark.parametrize("codec", CODECS)
def test_compressed_batches_are_not_recompressed(raw: RawClient, make_topic: MakeTopic, codec: str) -> None:
    topic = make_topic()
    plain = Batch(values=[b"v" * 500] * 20)
    packed = compress(CODECS[codec], plain.encode()[61:])
    sent = plain.but(attributes=CODECS[codec], payload=packed)
    assert produce(raw, topic, sent).error_code == 0
    (stored,) = fetched_batches(raw, topic)
    assert stored.data[61:] == packed
    assert stored.codec == CODECS[codec]


def test_zstd_needs_version_7(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    plain = Batch()
    zstd = plain.but(attributes=CODECS["zstd"], payload=compress(CODECS["zstd"], plain.encode()[61:]))
    assert produce(raw, topic, zstd, version=6).error_code == UNSUPPORTED_COMPRESSION
    assert produce(raw, topic, zstd, version=7).base_offset == 0


REFUSED = {
    "wrong crc": (Batch(crc=1), CORRUPT_MESSAGE),
    "magic 3": (Batch(magic=3), CORRUPT_MESSAGE),
    "base offset not 0": (Batch(base_offset=5), INVALID_RECORD),
    "too few counted": (Batch(values=[b"a", b"b"], count=1), INVALID_RECORD),
    "too many counted": (Batch(count=2), INVALID_RECORD),
    "wrong last offset delta": (Batch(values=[b"a", b"b"], last_offset_delta=5), INVALID_RECORD),
    "no records": (Batch(values=[], last_offset_delta=0), INVALID_RECORD),
    "control batch": (Batch(attributes=CONTROL_BIT), INVALID_RECORD),
    "sequence -1": (Batch(producer_id=5, producer_epoch=0, base_sequence=-1), INVALID_RECORD),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_batch_that_is_wrong_is_refused_and_nothing_is_stored(
    raw: RawClient, make_topic: MakeTopic, case: str
) -> None:
    topic = make_topic()
    batch, error_code = REFUSED[case]
    part = produce(raw, topic, batch)
    assert (part.error_code, part.base_offset) == (error_code, -1)
    assert list_offset(raw, topic, -1).offset == 0
    assert produce(raw, topic, Batch()).base_offset == 0


@pytest.mark.parametrize("magic", [0, 1])
def test_message_formats_before_v2_are_refused(raw: RawClient, make_topic: MakeTopic, magic: int) -> None:
    topic = make_topic()
    assert produce(raw, topic, old_message(magic)).error_code == INVALID_RECORD
    assert list_offset(raw, topic, -1).offset == 0


def test_two_batches_for_a_partition_are_refused_and_a_cut_second_one_is_ignored(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    one = Batch().encode()
    assert produce(raw, topic, one + one).error_code == INVALID_RECORD
    assert produce(raw, topic, one + one[:30]).base_offset == 0
    assert produce(raw, topic, one + b"stray").base_offset == 1
    assert [batch.data[16:] for batch in fetched_batches(raw, topic)] == [one[16:], one[16:]]


def test_records_cut_short_are_refused(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    batch = Batch(values=[b"value"]).encode()
    for size in (0, 10, 60, len(batch) - 1):
        assert produce(raw, topic, batch[:size]).error_code != 0, size
    assert list_offset(raw, topic, -1).offset == 0


def test_a_transactional_batch_needs_a_transactional_id(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    batch = Batch(attributes=TRANSACTIONAL_BIT, producer_id=1, producer_epoch=0, base_sequence=0)
    assert produce(raw, topic, batch).error_code == TRANSACTIONAL_ID_MISMATCH


@pytest.mark.parametrize("wrong_max", [START_MS - 1, -1], ids=["below the first", "none"])
def test_a_max_timestamp_that_its_own_header_contradicts_is_corrected(
    raw: RawClient, make_topic: MakeTopic, wrong_max: int
) -> None:
    topic = make_topic()
    batch = Batch(values=[b"a", b"b"], timestamp_deltas=[0, 50], max_timestamp=wrong_max)
    assert produce(raw, topic, batch).error_code == 0
    (stored,) = fetched_batches(raw, topic)
    assert stored.max_timestamp == START_MS + 50
    assert stored.crc_is_right


@pytest.mark.differs(reason="Kafka reads every record of a batch; the gateway believes a plausible header")
def test_a_plausible_but_wrong_max_timestamp(raw: RawClient, make_topic: MakeTopic, broker: Broker) -> None:
    topic = make_topic()
    batch = Batch(values=[b"a", b"b"], timestamp_deltas=[0, 50], max_timestamp=START_MS + 999_999)
    assert produce(raw, topic, batch).error_code == 0
    (stored,) = fetched_batches(raw, topic)
    assert stored.max_timestamp == START_MS + (50 if broker.kind == "kafka" else 999_999)
    assert stored.crc_is_right
    assert list_offset(raw, topic, START_MS + 51).offset == -1


def test_the_append_time_bit_of_a_producer_is_cleared(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    assert produce(raw, topic, Batch(attributes=APPEND_TIME_BIT)).error_code == 0
    (stored,) = fetched_batches(raw, topic)
    assert (stored.attributes, stored.crc_is_right) == (0, True)


@pytest.mark.parametrize("timestamp", [0, -1, -2])
def test_early_and_missing_timestamps_are_accepted(
    raw: RawClient, make_topic: MakeTopic, timestamp: int
) -> None:
    topic = make_topic()
    assert produce(raw, topic, Batch(base_timestamp=timestamp)).error_code == 0
    assert fetched_batches(raw, topic)[0].base_timestamp == timestamp


def test_a_timestamp_more_than_an_hour_ahead_is_refused(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    ahead_ms = int(time.time() * 1_000) + 2 * 3_600_000
    part = produce(raw, topic, Batch(values=[b"a", b"b"], base_timestamp=ahead_ms))
    assert part.error_code == 32
    assert [error.batch_index for error in part.record_errors] == [0, 1]
    assert list_offset(raw, topic, -1).offset == 0


def test_log_append_time_is_answered_and_stored(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(message_timestamp_type="LogAppendTime")
    before_ms = int(time.time() * 1_000)
    part = produce(raw, topic, Batch(values=[b"a", b"b"], timestamp_deltas=[0, 9]))
    (stored,) = fetched_batches(raw, topic)
    assert before_ms <= part.log_append_time_ms <= int(time.time() * 1_000)
    assert stored.max_timestamp == part.log_append_time_ms
    assert (stored.attributes, stored.base_timestamp, stored.crc_is_right) == (
        APPEND_TIME_BIT,
        START_MS,
        True,
    )


def test_unknown_topics_and_partitions_are_told_apart_from_the_rest(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic(partitions=2)
    request = produce_request(topic, Batch())
    unknown_partition = produce_request(topic, Batch(), partition=2).topic_data[0].partition_data
    request.topic_data[0].partition_data.extend(unknown_partition)
    request.topic_data.extend(produce_request(f"{topic}-unknown", Batch()).topic_data)
    answer = raw.call(request, 9)
    found = {
        (response.name, part.index): (part.error_code, part.base_offset)
        for response in answer.responses
        for part in response.partition_responses
    }
    assert found == {
        (topic, 0): (0, 0),
        (topic, 2): (UNKNOWN_TOPIC, -1),
        (f"{topic}-unknown", 0): (UNKNOWN_TOPIC, -1),
    }


@pytest.mark.parametrize("acks", [2, -2, 100])
def test_acks_other_than_all_one_and_none_are_refused(
    raw: RawClient, make_topic: MakeTopic, acks: int
) -> None:
    topic = make_topic()
    assert produce(raw, topic, Batch(), acks=acks).error_code == INVALID_ACKS
    assert list_offset(raw, topic, -1).offset == 0


def test_a_failing_acks_0_ends_the_connection(broker: Broker, make_topic: MakeTopic) -> None:
    topic = make_topic()
    with raw_client(broker) as raw:
        raw.send(produce_request(topic, Batch(crc=1), acks=0), 9, answered=False)
        assert raw.is_closed_by_peer()


def test_a_batch_above_max_message_bytes_is_refused(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(max_message_bytes="1000")
    fits = Batch(values=[b"x" * (1_000 - len(Batch(values=[b"x" * 900]).encode()) + 900)])
    assert len(fits.encode()) == 1_000
    assert produce(raw, topic, fits).error_code == 0
    above = Batch(values=[fits.values[0] + b"x"])
    assert produce(raw, topic, above).error_code == MESSAGE_TOO_LARGE
    assert list_offset(raw, topic, -1).offset == 1


@pytest.mark.differs(reason="Kafka never answers a partition without records; the gateway refuses it")
def test_null_records_are_refused_by_the_gateway(
    broker: Broker, raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    if broker.kind == "kafka":
        raw.send(produce_request(topic, None), 9)
        assert not raw.is_closed_by_peer(within_seconds=1)
    else:
        assert produce(raw, topic, None).error_code in (42, INVALID_RECORD)
