"""Fetch on the wire: limits, waiting, ids, and the answer to an offset out of range."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any

import pytest

from compat_tests.batches import Batch, stored_batches
from compat_tests.broker import Broker
from compat_tests.conftest import MakeTopic
from compat_tests.requests import fetch, fetch_request, fetched_batches, produce, topic_id
from compat_tests.times import quickest, seconds_of
from compat_tests.wire import TIMEOUT_SECONDS, RawClient, raw_client
from protocol.messages.fetch import FetchPartition

OFFSET_OUT_OF_RANGE, UNKNOWN_TOPIC, UNKNOWN_TOPIC_ID = 1, 3, 100
FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH = 74, 75

FOREVER_MS = 1_000_000
"""A fetch that waited so long would have no answer while its client waits for it."""


def large(size_bytes: int = 10_000) -> Batch:
    return Batch(values=[b"x" * size_bytes])


@pytest.mark.parametrize("version", range(4, 13))
def test_every_version_by_name_reads_what_was_produced(
    raw: RawClient, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic()
    produce(raw, topic, Batch(values=[b"a", b"b"]))
    part = fetch(raw, topic, 0, version=version)
    assert (part.error_code, part.high_watermark, part.last_stable_offset) == (0, 2, 2)
    assert part.log_start_offset == (0 if version >= 5 else -1)
    assert not part.aborted_transactions
    (stored,) = stored_batches(part.records)
    assert (stored.base_offset, stored.last_offset, stored.crc_is_right) == (0, 1, True)


@pytest.mark.parametrize("version", range(13, 18))
def test_every_version_by_id_reads_what_was_produced(
    raw: RawClient, make_topic: MakeTopic, version: int
) -> None:
    topic = make_topic()
    produce(raw, topic, Batch(values=[b"a", b"b"]))
    identity = topic_id(raw, topic)
    request = fetch_request(identity, 0)
    answer = raw.call(request, version)
    assert answer.responses[0].topic_id == identity
    assert answer.responses[0].partitions[0].high_watermark == 2
    unknown = identity.__class__(int=identity.int ^ 1)
    assert fetch(raw, unknown, 0, version=version).error_code == UNKNOWN_TOPIC_ID


def test_the_whole_batch_with_the_offset_is_returned(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for _ in range(3):
        produce(raw, topic, Batch(values=[b"v"] * 10))
    for offset, base in ((0, 0), (9, 0), (10, 10), (15, 10), (29, 20)):
        assert fetched_batches(raw, topic, offset)[0].base_offset == base


def test_at_the_end_nothing_comes_and_beyond_it_is_out_of_range(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    produce(raw, topic, Batch(values=[b"v"] * 5))
    at_end = fetch(raw, topic, 5)
    assert (at_end.error_code, at_end.high_watermark, at_end.records or b"") == (0, 5, b"")
    for offset in (6, 10**12, -1, -5):
        beyond = fetch(raw, topic, offset)
        assert beyond.error_code == OFFSET_OUT_OF_RANGE, offset
        assert (beyond.high_watermark, beyond.last_stable_offset, beyond.log_start_offset) == (-1, -1, -1)


def test_an_error_answers_at_once_whatever_the_wait(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for name, offset in ((topic, 99), (f"{topic}-unknown", 0)):
        asks = partial(fetch, raw, name, offset, max_wait_ms=FOREVER_MS)
        quickest(partial(seconds_of, asks), below_seconds=1)


def test_unknown_topics_and_partitions_have_their_own_answers(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(raw, topic, Batch())
    request = fetch_request(topic, 0, 0)
    request.topics += fetch_request(f"{topic}-unknown", 0).topics
    answer = raw.call(request, 11)
    assert {
        (response.topic, part.partition_index): part.error_code
        for response in answer.responses
        for part in response.partitions
    } == {
        (topic, 0): 0,
        (topic, 1): UNKNOWN_TOPIC,
        (f"{topic}-unknown", 0): UNKNOWN_TOPIC,
    }


def test_only_whole_batches_that_fit_are_returned_and_the_first_always(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    for _ in range(5):
        produce(raw, topic, large())
    size = len(large().encode())
    for limit, count in ((1, 1), (size - 1, 1), (size, 1), (size * 2, 2), (size * 3 + size // 2, 3)):
        stored = fetched_batches(raw, topic, partition_max_bytes=limit)
        assert [batch.base_offset for batch in stored] == list(range(count)), limit


def test_the_limit_of_the_request_is_shared_by_the_partitions(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=3)
    size = len(large().encode())
    for partition in range(3):
        for _ in range(4):
            produce(raw, topic, large(), partition=partition)
    answer = raw.call(fetch_request(topic, 0, 0, 0, max_bytes=size * 5), 11)
    counts = [len(stored_batches(part.records or b"")) for part in answer.responses[0].partitions]
    assert counts == [4, 1, 0]
    tiny = raw.call(fetch_request(topic, 0, 0, 0, max_bytes=1), 11)
    assert [len(stored_batches(part.records or b"")) for part in tiny.responses[0].partitions] == [1, 0, 0]


def test_a_fetch_waits_for_max_wait_when_nothing_comes(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()

    def waits() -> None:
        part = fetch(raw, topic, 0, max_wait_ms=400)
        assert (part.error_code, part.records or b"") == (0, b"")

    assert quickest(lambda: seconds_of(waits), below_seconds=1) >= 0.39


def test_a_waiting_fetch_is_woken_by_data(broker: Broker, raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    ends: list[int] = []

    def woken() -> float:
        end = len(ends)
        raw.send(fetch_request(topic, end, max_wait_ms=FOREVER_MS), 11)
        with raw_client(broker) as other:
            took = seconds_of(lambda: ends.append(_woken_by(other, raw, topic)))
        assert ends[-1] == end + 1
        return took

    quickest(woken, below_seconds=1)


def _woken_by(other: RawClient, waiting: RawClient, topic: str) -> int:
    """Produce a record for a client that waits for one; return the end that it is told."""
    produce(other, topic, Batch())
    part = waiting.receive().responses[0].partitions[0]
    assert len(stored_batches(part.records)) == 1
    return int(part.high_watermark)


def test_a_waiting_fetch_is_woken_at_min_bytes_and_not_before(
    broker: Broker, raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    size = len(large().encode())
    raw.send(fetch_request(topic, 0, max_wait_ms=FOREVER_MS, min_bytes=3 * size), 11)
    with raw_client(broker) as other:
        for _ in range(2):
            produce(other, topic, large())
        raw.socket.settimeout(0.3)
        with pytest.raises(TimeoutError):
            raw.socket.recv(1)
        raw.socket.settimeout(TIMEOUT_SECONDS)
        produce(other, topic, large())
        part = raw.receive().responses[0].partitions[0]
    assert len(stored_batches(part.records)) == 3


def test_min_bytes_counts_what_there_is_already(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    for partition in (0, 1):
        produce(raw, topic, large(), partition=partition)
    size = len(large().encode())

    def asks(max_wait_ms: int, min_bytes: int) -> float:
        request = fetch_request(topic, 0, 0, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
        took = seconds_of(lambda: answers.append(raw.call(request, 11)))
        assert all(part.records for part in answers[-1].responses[0].partitions)
        return took

    answers: list[Any] = []
    quickest(lambda: asks(FOREVER_MS, 2 * size), below_seconds=1)
    assert quickest(lambda: asks(300, 3 * size), below_seconds=1) >= 0.29


def test_many_waiting_fetches_are_all_woken_by_one_record(
    broker: Broker, raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    clients = [RawClient(broker) for _ in range(30)]
    ends = 0

    def woken() -> float:
        nonlocal ends
        for client in clients:
            client.send(fetch_request(topic, ends, max_wait_ms=FOREVER_MS), 11)
        produce(raw, topic, Batch())
        ends += 1
        return seconds_of(all_are_told)

    def all_are_told() -> None:
        for client in clients:
            assert client.receive().responses[0].partitions[0].high_watermark == ends

    quickest(woken, below_seconds=2)
    for client in clients:
        client.close()


def test_the_last_mention_of_a_partition_counts(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    for _ in range(3):
        produce(raw, topic, Batch())
    request = fetch_request(topic, 0)
    request.topics[0].partitions.append(
        FetchPartition(partition=0, fetch_offset=2, partition_max_bytes=1_000_000)
    )
    answer = raw.call(request, 11)
    (part,) = answer.responses[0].partitions
    assert stored_batches(part.records)[0].base_offset == 2


def test_leader_epochs_are_checked(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    produce(raw, topic, Batch())
    for epoch, error_code in ((-1, 0), (0, 0), (1, UNKNOWN_LEADER_EPOCH)):
        request = fetch_request(topic, 0)
        request.topics[0].partitions[0].current_leader_epoch = epoch
        assert raw.call(request, 11).responses[0].partitions[0].error_code == error_code


def test_concurrent_readers_and_a_writer_see_whole_batches_in_order(
    broker: Broker, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    total = 300
    failures: list[str] = []

    def read() -> None:
        with raw_client(broker) as raw:
            offset = 0
            while offset < total:
                for batch in fetched_batches(raw, topic, offset, max_wait_ms=500):
                    if batch.base_offset != offset or not batch.crc_is_right:
                        failures.append(f"batch {batch.base_offset} at {offset}, crc {batch.crc_is_right}")
                    offset = batch.last_offset + 1

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    with raw_client(broker) as raw:
        for i in range(total // 3):
            produce(raw, topic, Batch(values=[b"%d" % i * 500] * 3))
    for reader in readers:
        reader.join(60)
        assert not reader.is_alive()
    assert failures == []
