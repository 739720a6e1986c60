"""ListOffsets: the ends of a partition, and records by their time."""

from __future__ import annotations

import pytest

from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, offset_of, outcomes, producing, send

TOPICS = {"t": 1}


LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING = -1, -2, -3, -4, -5, -6


def timed(*timestamps: int, codec: int = Codec.NONE) -> bytearray:
    records = [Record(offset, timestamp, None, b"v") for offset, timestamp in enumerate(timestamps)]
    return encode_batch(records, codec=codec)


@pytest.mark.parametrize("version", range(1, 12))
def test_the_ends_are_told_in_every_version(client: Client, version: int) -> None:
    send(client, "t", batch(b"a", b"b"))
    latest = offset_of(client, "t", LATEST, version=version)
    earliest = offset_of(client, "t", EARLIEST, version=version)
    assert (latest.offset, latest.timestamp, earliest.offset, earliest.timestamp) == (2, -1, 0, -1)
    assert latest.leader_epoch == (0 if version >= 4 else -1)


@pytest.mark.parametrize(
    ("timestamp", "since"),
    [(MAX_TIMESTAMP, 7), (EARLIEST_LOCAL, 8), (LATEST_TIERED, 9), (EARLIEST_PENDING, 11)],
)
def test_a_question_that_came_later_is_unsupported_earlier(
    client: Client, timestamp: int, since: int
) -> None:
    send(client, "t", batch(b"a"))
    for version in range(1, 12):
        code = offset_of(client, "t", timestamp, version=version).error_code
        assert code == (0 if version >= since else ErrorCode.UNSUPPORTED_VERSION), version


def test_without_tiers_local_is_everything_and_tiered_is_nothing(client: Client) -> None:
    send(client, "t", batch(b"a"))
    found = {
        timestamp: offset_of(client, "t", timestamp, version=11).offset
        for timestamp in (EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING)
    }
    assert found == {EARLIEST_LOCAL: 0, LATEST_TIERED: -1, EARLIEST_PENDING: -1}


@pytest.mark.parametrize("codec", list(Codec))
def test_the_first_record_at_or_after_a_time_is_found_inside_its_batch(client: Client, codec: int) -> None:
    send(client, "t", timed(100, 300, 200, codec=codec))
    send(client, "t", timed(50, 400, 350, codec=codec))
    expected = {0: (100, 0), 100: (100, 0), 101: (300, 1), 300: (300, 1), 301: (400, 4), 400: (400, 4)}
    for timestamp, (at, offset) in expected.items():
        found = offset_of(client, "t", timestamp)
        assert (found.timestamp, found.offset) == (at, offset), timestamp
    nothing = offset_of(client, "t", 401)
    assert (nothing.error_code, nothing.timestamp, nothing.offset, nothing.leader_epoch) == (0, -1, -1, -1)


def test_a_search_by_time_looks_over_many_frames_and_restarts(gateway: Gateway, client: Client) -> None:
    for number in range(40):
        send(client, "t", timed(START_MS + 10 * number))
    gateway.crash()
    client = gateway.client()
    for number in (0, 7, 39):
        found = offset_of(client, "t", START_MS + 10 * number - 5)
        assert (found.offset, found.timestamp) == (number, START_MS + 10 * number)


def test_the_largest_timestamp_names_its_first_record(client: Client) -> None:
    empty = offset_of(client, "t", MAX_TIMESTAMP)
    assert (empty.timestamp, empty.offset) == (-1, -1)
    send(client, "t", timed(100, 500, 300))
    send(client, "t", timed(500, 200))
    found = offset_of(client, "t", MAX_TIMESTAMP)
    assert (found.timestamp, found.offset) == (500, 1)


def test_the_end_is_that_of_what_is_durable(gateway: Gateway, client: Client) -> None:
    client.send(producing(("t", 0, batch(b"a"))), 9)
    asker = gateway.client()
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    asker.send(request, 9)
    (answer,) = asker.answers()
    assert outcomes(answer)[0].offset == 0
    gateway.settle()
    assert offset_of(asker, "t", LATEST).offset == 1


def test_a_partition_named_twice_is_an_invalid_request(client: Client) -> None:
    create(client, "u", partitions=2)
    asked = [ListOffsetsPartition(partition_index=index, timestamp=LATEST) for index in (0, 1, 0)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="u", partitions=asked)])
    codes = {item.partition_index: item.error_code for item in outcomes(client.call(request, 9))}
    assert codes == {0: ErrorCode.INVALID_REQUEST, 1: 0}


def test_what_does_not_exist_is_unknown(client: Client) -> None:
    assert offset_of(client, "none", LATEST).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert offset_of(client, "t", LATEST, 1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert offset_of(client, "t", LATEST, -1).error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize(("epoch", "code"), [(-1, 0), (0, 0), (3, ErrorCode.UNKNOWN_LEADER_EPOCH)])
def test_the_leader_epoch_is_checked(client: Client, epoch: int, code: int) -> None:
    asked = ListOffsetsPartition(partition_index=0, timestamp=LATEST, current_leader_epoch=epoch)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="t", partitions=[asked])])
    (found,) = outcomes(client.call(request, 9))
    assert found.error_code == code


def test_records_below_the_log_start_are_not_found(gateway: Gateway) -> None:
    gateway = Gateway(log_retention_check_interval_ms=1_000)
    client = gateway.client()
    create(client, "r", retention_bytes="1", internal_segment_bytes="100")
    for number in range(5):
        send(client, "r", timed(START_MS + number))
    gateway.advance(2_000)
    earliest = offset_of(client, "r", EARLIEST)
    assert earliest.offset == 4
    assert offset_of(client, "r", START_MS).offset == 4
    assert offset_of(client, "r", MAX_TIMESTAMP).offset == 4
