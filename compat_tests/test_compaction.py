"""Compaction by key: the same records written to either broker end in the same set, at the same offsets."""

from __future__ import annotations

import random
import struct
import time

import pytest

from compat_tests.batches import Stored, stored_batches
from compat_tests.broker import Broker
from compat_tests.conftest import StartBroker
from compat_tests.keyed import GZIP, Kept, Pair, keyed_batch, records_in
from compat_tests.requests import fetch, list_offset, produce, producer_id
from compat_tests.times import START_MS
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from compat_tests.wire import RawClient, raw_client

OFFSET_OUT_OF_RANGE, INVALID_RECORD = 1, 87
DELETE_HORIZON = 0x40
SEGMENT_BYTES = 4_000

SOON = {
    "cleanup.policy": "compact",
    "min.cleanable.dirty.ratio": "0.001",
    "internal.segment.bytes": str(SEGMENT_BYTES),
}


@pytest.fixture(scope="module")
def cleaning_broker(tmp_path_factory: pytest.TempPathFactory, broker_kind: str) -> object:
    """Start a broker that looks for something to compact several times a second."""
    from compat_tests.conftest import _brokers, _make

    settings = {"log.cleaner.backoff.ms": "100", "log.retention.check.interval.ms": "200"}
    started = _make(broker_kind, tmp_path_factory.mktemp("cleaning"), settings)  # type: ignore[arg-type]
    started.start()
    yield started
    _brokers.remove(started)
    started.stop()


def everything(raw: RawClient, topic: str) -> list[Stored]:
    """Return all batches of the topic, read to its end."""
    found: list[Stored] = []
    offset = list_offset(raw, topic, -2).offset
    end = list_offset(raw, topic, -1).offset
    while offset < end:
        part = fetch(raw, topic, offset, max_bytes=200_000, partition_max_bytes=100_000)
        if part.error_code == OFFSET_OUT_OF_RANGE:  # retention was faster
            return everything(raw, topic)
        assert part.error_code == 0
        new = stored_batches(part.records or b"")
        assert new, f"nothing is read at {offset} of {end}"
        found += [batch for batch in new if batch.last_offset >= offset]
        offset = new[-1].last_offset + 1
    assert all(batch.crc_is_right for batch in found)
    return found


def records_of(raw: RawClient, topic: str) -> list[Kept]:
    return [record for batch in everything(raw, topic) for record in records_in(batch.data)]


def active_base(sizes: list[tuple[int, int]]) -> int:
    """Return where the active segment begins after batches of these base offsets and sizes."""
    begin = used = 0
    for base, size in sizes:
        if used + size > SEGMENT_BYTES:
            begin, used = base, 0
        used += size
    return begin


def last_of_each_key(written: list[Kept], active: int) -> list[Kept]:
    """Return what is left when all below the active segment was compacted."""
    last = {record.key: record.offset for record in written if record.offset < active}
    return [record for record in written if record.offset >= active or last[record.key] == record.offset]


def send(raw: RawClient, topic: str, batch: bytes) -> int:
    answer = produce(raw, topic, batch)
    assert answer.error_code == 0, answer
    return int(answer.base_offset)


@pytest.fixture
def raw(cleaning_broker: Broker) -> object:
    with raw_client(cleaning_broker) as client:
        yield client


def test_the_last_record_of_each_key_survives(cleaning_broker: Broker, raw: RawClient, topic: str) -> None:
    create_topic(cleaning_broker, topic, 1, SOON)
    chance = random.Random(17)
    identity, epoch = producer_id(raw)
    written: list[Kept] = []
    sizes: list[tuple[int, int]] = []
    sequence = 0
    for number in range(300):
        keys = [b"key-%d" % chance.randrange(12) for _ in range(chance.randint(1, 5))]
        pairs: list[Pair] = [
            (key, None if chance.random() < 0.1 else b"%d " % number * chance.randint(1, 30)) for key in keys
        ]
        producer = (-1, -1, -1)
        if number % 3 == 0:
            producer = (identity, epoch, sequence)
            sequence += len(pairs)
        times = {"timestamp_ms": START_MS + 10 * number}
        batch = keyed_batch(pairs, codec=GZIP if number % 2 else 0, producer=producer, **times)
        base = send(raw, topic, batch)
        sizes.append((base, len(batch)))
        written += [Kept(base + i, START_MS + 10 * number + i, *pair) for i, pair in enumerate(pairs)]
    expected = last_of_each_key(written, active_base(sizes))
    assert len(expected) < len(written) // 3

    eventually(
        lambda: records_of(raw, topic) == expected,
        waiting_for="the compacted topic",
        last=lambda: (len(records_of(raw, topic)), len(expected), len(written)),
    )

    codecs = {batch.base_offset: batch.codec for batch in everything(raw, topic) if records_in(batch.data)}
    assert set(codecs.values()) == {0, GZIP}, "batches keep their codec"
    assert list_offset(raw, topic, -2).offset == 0
    assert list_offset(raw, topic, -1).offset == written[-1].offset + 1
    # The producer goes on where it was, and repeats are known.
    assert send(raw, topic, keyed_batch([(b"x", b"y")], producer=(identity, epoch, sequence))) == (
        written[-1].offset + 1
    )


def test_a_compacted_offset_or_time_leads_to_the_next_record(
    cleaning_broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(cleaning_broker, topic, 1, SOON)
    for number in range(40):
        send(
            raw, topic, keyed_batch([(b"k%d" % (number % 2), b"%d" % number)], timestamp_ms=START_MS + number)
        )
    fill(raw, topic, START_MS + 100)
    eventually(lambda: len(records_of(raw, topic)) <= 4, waiting_for="compaction")

    for offset in (0, 1, 20, 37):
        part = fetch(raw, topic, offset)
        assert part.error_code == 0
        first = next(batch for batch in stored_batches(part.records) if records_in(batch.data))
        assert records_in(first.data)[0].offset == 38
    assert [list_offset(raw, topic, START_MS + at).offset for at in (0, 20, 39)] == [38, 38, 39]


def fill(raw: RawClient, topic: str, timestamp_ms: int = START_MS) -> None:
    """Begin a new segment, so that all before can be compacted."""
    for number in range(2):
        pairs: list[Pair] = [(b"filler", b"%d" % number * (SEGMENT_BYTES - 200))]
        send(raw, topic, keyed_batch(pairs, timestamp_ms=timestamp_ms))


def test_a_tombstone_bears_the_time_when_it_may_go_and_goes(
    cleaning_broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(cleaning_broker, topic, 1, {**SOON, "delete.retention.ms": "1000"})
    send(raw, topic, keyed_batch([(b"a", b"1"), (b"b", b"2")]))
    send(raw, topic, keyed_batch([(b"a", None)]))
    began_ms = int(time.time() * 1_000)
    fill(raw, topic)

    def tombstone() -> Stored | None:
        found = [batch for batch in everything(raw, topic) if batch.base_offset == 2]
        return found[0] if found and found[0].attributes & DELETE_HORIZON else None

    batch = eventually(tombstone, waiting_for="a marked tombstone")
    assert records_in(batch.data) == [Kept(2, START_MS, b"a", None)]
    assert batch.base_timestamp >= began_ms + 1_000
    assert batch.max_timestamp == START_MS

    def gone() -> bool:
        # Kafka looks at it again only when something new is to be compacted.
        fill(raw, topic)
        return all(record.key != b"a" for record in records_of(raw, topic))

    eventually(gone, waiting_for="the tombstone to go")
    assert records_of(raw, topic)[0] == Kept(1, START_MS + 1, b"b", b"2")


def test_an_emptied_batch_keeps_the_last_sequence_of_its_producer(
    cleaning_broker: Broker, raw: RawClient, topic: str
) -> None:
    create_topic(cleaning_broker, topic, 1, SOON)
    identity, epoch = producer_id(raw)
    now_ms = int(time.time() * 1_000)
    for sequence in range(3):
        send(
            raw,
            topic,
            keyed_batch(
                [(b"k", b"%d" % sequence)], producer=(identity, epoch, sequence), timestamp_ms=now_ms
            ),
        )
    send(raw, topic, keyed_batch([(b"k", b"another's")], timestamp_ms=now_ms))
    fill(raw, topic, now_ms)

    eventually(
        lambda: [record.offset for record in records_of(raw, topic)][:1] == [3],
        waiting_for="compaction",
    )

    first = everything(raw, topic)[0]
    (count,) = struct.unpack_from(">i", first.data, 57)
    assert (first.base_offset, first.last_offset, first.producer_id, count) == (2, 2, identity, 0)
    again = keyed_batch([(b"k", b"2")], producer=(identity, epoch, 2), timestamp_ms=now_ms)
    assert send(raw, topic, again) == 2, "a repeat is still known"


def test_compact_and_delete_does_both(cleaning_broker: Broker, raw: RawClient, topic: str) -> None:
    now_ms = int(time.time() * 1_000)
    both = {**SOON, "cleanup.policy": "compact,delete", "retention.ms": "3600000"}
    create_topic(cleaning_broker, topic, 1, both)
    # So large that no other record shares its segment, even when little is left of the next one.
    send(raw, topic, keyed_batch([(b"old", b"x" * (SEGMENT_BYTES - 100))], timestamp_ms=now_ms - 7_200_000))
    for number in range(10):
        send(raw, topic, keyed_batch([(b"k", b"%d" % number)], timestamp_ms=now_ms))
    fill(raw, topic, now_ms)

    eventually(
        lambda: [record.offset for record in records_of(raw, topic)][:1] == [10],
        waiting_for="the old segment deleted and the others compacted",
    )
    # Where the segment after the deleted one begins, or the first record that is left of it.
    assert list_offset(raw, topic, -2).offset in (1, 10)


def test_records_without_key_are_refused(cleaning_broker: Broker, raw: RawClient, topic: str) -> None:
    create_topic(cleaning_broker, topic, 1, SOON)
    answer = produce(raw, topic, keyed_batch([(b"k", b"v"), (None, b"v")]))
    assert answer.error_code == INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [1]


def test_a_restart_keeps_what_was_compacted(start_broker: StartBroker) -> None:
    broker = start_broker(log_cleaner_backoff_ms="100")
    create_topic(broker, "kept", 1, SOON)
    with raw_client(broker) as raw:
        for number in range(60):
            send(raw, "kept", keyed_batch([(b"k%d" % (number % 3), b"%d" % number)]))
        fill(raw, "kept")
        eventually(lambda: len(records_of(raw, "kept")) <= 5, waiting_for="compaction")
        expected = records_of(raw, "kept")
    broker.kill()
    broker.restart()
    with raw_client(broker) as raw:
        assert records_of(raw, "kept") == expected
