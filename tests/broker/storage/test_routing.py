"""Records in topics whose partitions split: each is stored in the partition that has its key, once."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest

from broker.storage import inspection
from broker.storage.inspection import INSPECTED_RECORDS_MAX, KEYS_HASHED_MAX, KEYS_RECORDS_MAX
from groups.partition_tree import hashes_of
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record, open_batch
from protocol.record_writer import encode_batch
from protocol.records import (
    HEADER_BYTES,
    LENGTH_AT,
    PREFIX_BYTES,
    BatchHeader,
    iter_batches,
    read_batch_header,
    renew_crc,
)
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import fetch, outcomes, producing, send
from tests.broker.splits import HIGH, LOW, batches, keyed, split, split_topic, splitting, stored, values_of
from tests.broker.topic_requests import partition_count
from tests.broker.txn import TV1, TV2, Producer
from tests.broker.txn import committed as read_committed


def test_a_split_adds_a_partition_that_takes_the_upper_half_of_the_keys(client: Client) -> None:
    split_topic(client)
    assert send(client, "t", keyed((HIGH, b"1"), (LOW, b"1"))).base_offset == 0
    assert split(client) == (0, "")
    assert partition_count(client, "t") == 2
    assert send(client, "t", keyed((LOW, b"2"))).base_offset == 2
    assert send(client, "t", keyed((HIGH, b"2"))).base_offset == -1
    assert values_of(client, 0) == [b"1", b"1", b"2"]
    assert stored(client, 1) == [(0, HIGH, b"2")]


def test_a_batch_for_several_partitions_is_divided_and_keeps_the_order_of_each_key(client: Client) -> None:
    split_topic(client)
    split(client)
    answer = send(client, "t", keyed((HIGH, b"1"), (LOW, b"2"), (HIGH, b"3"), (None, b"4"), (LOW, b"5")))
    assert (answer.error_code, answer.base_offset) == (0, -1)
    assert stored(client, 0) == [(1, LOW, b"2"), (3, None, b"4"), (4, LOW, b"5")]
    assert stored(client, 1) == [(0, HIGH, b"1"), (1, HIGH, b"3")]


def test_a_batch_that_belongs_where_it_was_sent_is_stored_byte_for_byte(client: Client) -> None:
    split_topic(client)
    split(client)
    sent = keyed((HIGH, b"1"), (HIGH, b"2"), codec=Codec.GZIP)
    assert send(client, "t", sent, partition=1).base_offset == 0
    (batch,) = iter_batches(fetch(client, "t", 0, 1).records)
    assert bytes(batch)[17:] == bytes(sent)[17:]


def test_records_without_a_key_stay_where_they_were_sent(client: Client) -> None:
    split_topic(client)
    split(client)
    assert send(client, "t", keyed((None, b"1"))).base_offset == 0
    assert send(client, "t", keyed((None, b"2")), partition=1).base_offset == 0


def test_a_key_has_one_partition_whichever_its_producer_chooses(client: Client) -> None:
    split_topic(client, partitions=4)
    for partition in range(4):
        assert send(client, "t", keyed((HIGH, b"%d" % partition)), partition).error_code == 0
    found = [values_of(client, partition) for partition in range(4)]
    assert sorted(map(len, found)) == [0, 0, 0, 4]


@pytest.mark.parametrize("codec", list(Codec))
def test_moved_records_keep_their_codec(client: Client, codec: Codec) -> None:
    split_topic(client)
    split(client)
    assert send(client, "t", keyed((HIGH, b"1"), (LOW, b"2"), codec=codec)).error_code == 0
    assert [read_batch_header(batch).codec for p in (0, 1) for batch in batches(client, p)] == [codec] * 2


@pytest.mark.parametrize("count", [2 * INSPECTED_RECORDS_MAX, 2 * KEYS_RECORDS_MAX])
def test_a_large_batch_is_divided_whether_a_thread_reads_its_keys_or_not(client: Client, count: int) -> None:
    split_topic(client)
    split(client)
    rows = [((HIGH, LOW)[number % 2], b"%d" % number) for number in range(count)]
    assert send(client, "t", keyed(*rows)).error_code == 0
    assert values_of(client, 1) == [value for key, value in rows if key == HIGH]
    assert values_of(client, 0) == [value for key, value in rows if key == LOW]


@pytest.mark.parametrize("size", [300, 900])
def test_long_keys_are_hashed_by_a_thread(client: Client, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    split_topic(client)
    split(client)
    in_threads, threads = [], []
    offload = client.gateway.broker.scheduler.offload

    def counted(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        threads.append(work)
        offload(work, done)
        threads.pop()

    def hashed(keys: set[bytes]) -> dict[bytes, int]:
        in_threads.append((bool(threads), sum(map(len, keys))))
        return hashes_of(keys)

    monkeypatch.setattr(client.gateway.broker.scheduler, "offload", counted)
    monkeypatch.setattr(inspection, "hashes_of", hashed)
    keys = [b"%d" % number + bytes(size) for number in range(1 + 2 * KEYS_HASHED_MAX // size)]
    assert send(client, "t", keyed(*((key, b"v") for key in keys))).error_code == 0
    assert all(thread or count <= KEYS_HASHED_MAX for thread, count in in_threads)
    assert any(thread for thread, _ in in_threads)
    assert {key for partition in (0, 1) for _, key, _ in stored(client, partition)} == set(keys)


# --- idempotent producers -----------------------------------------------------------------------------------


def test_a_repetition_of_a_batch_from_before_a_split_is_recognised(client: Client) -> None:
    split_topic(client)
    batch = keyed((HIGH, b"1"), (LOW, b"1"), producer=(7, 0, 0))
    assert send(client, "t", batch).base_offset == 0
    split(client)
    assert send(client, "t", batch).base_offset == 0
    assert send(client, "t", keyed((HIGH, b"2"), producer=(7, 0, 2))).error_code == 0
    assert (values_of(client, 0), values_of(client, 1)) == ([b"1", b"1"], [b"2"])


def test_sequences_go_on_where_the_producer_sends_whatever_is_moved(client: Client) -> None:
    split_topic(client)
    sent = [
        keyed((key, b"%d" % number), producer=(7, 0, number)) for number, key in enumerate([HIGH, LOW] * 4)
    ]
    for number, batch in enumerate(sent):
        if number in (2, 5):
            split(client, number % 2)
        assert send(client, "t", batch).error_code == 0
        assert send(client, "t", batch).error_code == 0, "a repetition"
    found = [value for partition in range(3) for value in values_of(client, partition)]
    assert sorted(found) == [b"%d" % number for number in range(8)]
    gap = send(client, "t", keyed((LOW, b"9"), producer=(7, 0, 9)))
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_producer_has_sequences_of_its_own_in_the_new_partition(client: Client) -> None:
    split_topic(client)
    split(client)
    assert send(client, "t", keyed((HIGH, b"1"), producer=(7, 0, 0))).error_code == 0
    assert send(client, "t", keyed((HIGH, b"2"), producer=(7, 0, 0)), partition=1).error_code == 0
    assert send(client, "t", keyed((HIGH, b"2"), producer=(7, 0, 0)), partition=1).error_code == 0
    assert values_of(client, 1) == [b"1", b"2"]


@pytest.mark.parametrize("how", ["stop", "crash"])
def test_what_was_moved_and_its_sequence_outlive_a_restart_together(gateway: Gateway, how: str) -> None:
    client = gateway.client()
    split_topic(client)
    split(client)
    batch = keyed((HIGH, b"1"), (LOW, b"2"), producer=(7, 0, 0))
    send(client, "t", batch)
    gateway.restart() if how == "stop" else gateway.crash()
    client = gateway.client()
    assert send(client, "t", batch).error_code == 0
    assert (values_of(client, 0), values_of(client, 1)) == ([b"2"], [b"1"])


def test_a_batch_of_moved_records_waits_for_the_split_that_is_on_its_way(gateway: Gateway) -> None:
    client, other = gateway.client(), gateway.client()
    split_topic(client)
    client.send(splitting(0), 0)
    topic = gateway.broker.catalogue.by_name["t"]
    assert topic.tree is not None
    assert topic.tree.pending is not None
    other.send(producing(("t", 0, keyed((HIGH, b"1"), (LOW, b"2")))), 9)
    assert gateway.partition("t").log_end == 0
    gateway.settle()
    assert [client.answers()[0].topics[0].error_code, outcomes(other.answers()[0])[0].error_code] == [0, 0]
    assert (values_of(client, 0), values_of(client, 1)) == ([b"2"], [b"1"])


# --- transactions -------------------------------------------------------------------------------------------


class KeyedProducer(Producer):
    """A transactional producer that writes records with keys, all to partition 0."""

    def write_keys(self, *keys: bytes, partition: int = 0) -> int:
        """Write a batch of records whose values are their keys, and return the error."""
        if self.protocol == TV1:
            assert self.add(("t", partition)) == [0]
        sequence = self.sequences.get(("t", partition), 0)
        self.sequences["t", partition] = sequence + len(keys)
        batch = keyed(
            *((key, key) for key in keys),
            producer=(self.producer_id, self.epoch, sequence),
            transactional=True,
        )
        request = producing(("t", partition, batch))
        request.transactional_id = self.name
        (outcome,) = outcomes(self.client.call(request, self.produce_version))
        return int(outcome.error_code)


def committed(client: Client, partition: int) -> list[bytes]:
    return read_committed(client, "t", partition)


@pytest.mark.parametrize("protocol", [TV1, TV2])
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_has_all_partitions_that_its_records_are_moved_to(
    gateway: Gateway, protocol: int, commit: bool
) -> None:
    client = gateway.client()
    split_topic(client)
    producer = KeyedProducer(gateway, protocol=protocol)
    assert producer.write_keys(HIGH, LOW) == 0
    split(client)
    assert producer.write_keys(HIGH, LOW) == 0
    assert producer.write_keys(HIGH) == 0
    assert (committed(client, 0), committed(client, 1)) == ([], [])
    assert producer.end(commit=commit) == 0
    gateway.settle()
    assert committed(client, 0) == ([HIGH, LOW, LOW] if commit else [])
    assert committed(client, 1) == ([HIGH, HIGH] if commit else [])
    assert producer.write_keys(HIGH) == 0
    assert producer.commit() == 0
    gateway.settle()
    assert committed(client, 1)[-1:] == [HIGH]
    assert gateway.partition("t", 1).last_stable_offset == gateway.partition("t", 1).high_watermark


@pytest.mark.parametrize("protocol", [TV1, TV2])
def test_a_transaction_that_is_open_over_a_crash_ends_in_all_partitions(
    gateway: Gateway, protocol: int
) -> None:
    client = gateway.client()
    split_topic(client)
    split(client)
    producer = KeyedProducer(gateway, protocol=protocol)
    assert producer.write_keys(HIGH, LOW) == 0
    gateway.crash()
    client = producer.client = gateway.client()
    assert producer.write_keys(HIGH) == 0
    assert producer.commit() == 0
    gateway.settle()
    assert (committed(client, 0), committed(client, 1)) == ([LOW], [HIGH, HIGH])


def test_a_batch_of_a_transaction_that_is_not_open_is_stored_in_no_partition(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    split(client)
    batch = keyed((HIGH, b"1"), (LOW, b"2"), producer=(7, 0, 0), transactional=True)
    request = producing(("t", 0, batch))
    request.transactional_id = "tx"
    (outcome,) = outcomes(client.call(request, 12))
    assert outcome.error_code != 0
    assert [gateway.partition("t", index).log_end for index in (0, 1)] == [0, 0]


def flawed(*, key_length: int = 2, length: int = 16, rest: bytes = b"") -> bytearray:
    """Return a batch of one record, without compression, some bytes of which are wrong."""
    made = encode_batch([Record(0, START_MS, b"k", b"v")])
    data = made[:HEADER_BYTES] + bytes([length, 0, 0, 0, key_length]) + b"k" + bytes([2]) + b"v\0" + rest
    struct.pack_into(">i", data, LENGTH_AT, len(data) - PREFIX_BYTES)
    renew_crc(data)
    return data


@pytest.mark.parametrize(
    "sent",
    [flawed(key_length=100), flawed(length=126), flawed(length=5), flawed(rest=b"zz"), flawed(key_length=12)],
)
def test_a_batch_whose_keys_cannot_be_read_is_refused(client: Client, sent: bytearray) -> None:
    split_topic(client)
    split(client)
    answer = send(client, "t", sent)
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert values_of(client, 0) == values_of(client, 1) == []


def test_a_batch_that_cannot_be_divided_is_refused_as_a_whole(client: Client) -> None:
    split_topic(client)
    split(client)
    key = bytes([2]) + HIGH
    twice = bytes([16, 0, 0, 0]) + key + bytes([2]) + b"v\0"
    made = encode_batch([Record(index, START_MS, HIGH, b"v") for index in range(2)])
    data = made[:HEADER_BYTES] + twice + twice
    struct.pack_into(">i", data, LENGTH_AT, len(data) - PREFIX_BYTES)
    renew_crc(data)
    answer = send(client, "t", data)
    assert (answer.error_code, "ascend" in answer.error_message) == (ErrorCode.INVALID_RECORD, True)
    assert values_of(client, 0) == values_of(client, 1) == []


def test_a_topic_of_one_partition_reads_no_keys_before_its_first_split(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[int] = []

    def noted(batch: memoryview) -> tuple[BatchHeader, bytes]:
        opened.append(len(batch))
        return open_batch(batch)

    monkeypatch.setattr("broker.storage.inspection.open_batch", noted)
    split_topic(client)
    assert send(client, "t", keyed((HIGH, b"1"), codec=Codec.GZIP)).base_offset == 0
    assert not opened
    assert split(client) == (0, "")
    assert send(client, "t", keyed((LOW, b"2"))).base_offset == 1
    assert len(opened) == 1


def test_a_stale_epoch_is_refused_in_a_parent_though_all_of_its_records_are_moved(client: Client) -> None:
    split_topic(client)
    assert send(client, "t", keyed((LOW, b"1"), producer=(7, 1, 0))).error_code == 0
    split(client)
    stale = send(client, "t", keyed((HIGH, b"stale"), producer=(7, 0, 1)))
    assert stale.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert send(client, "t", keyed((HIGH, b"2"), producer=(7, 1, 1))).error_code == 0
    assert (values_of(client, 0), values_of(client, 1)) == ([b"1"], [b"2"])


def test_an_epoch_that_only_moved_records_have_shown_fences_older_ones_in_the_parent(client: Client) -> None:
    split_topic(client)
    split(client)
    assert send(client, "t", keyed((HIGH, b"1"), producer=(7, 1, 0))).error_code == 0
    stale = send(client, "t", keyed((LOW, b"stale"), producer=(7, 0, 0)))
    assert stale.error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert (values_of(client, 0), values_of(client, 1)) == ([], [b"1"])
