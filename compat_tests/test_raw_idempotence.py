"""Idempotent producers on the wire: duplicates, gaps, epochs, wrapping sequences."""

from __future__ import annotations

import time

import pytest

from compat_tests.batches import Batch
from compat_tests.conftest import MakeTopic, StartBroker
from compat_tests.requests import fetched_batches, list_offset, produce, producer_id
from compat_tests.topics import create_topic
from compat_tests.wire import RawClient, raw_client
from protocol.messages.init_producer_id import InitProducerIdRequest

OUT_OF_ORDER, INVALID_PRODUCER_EPOCH = 45, 47


def numbered(identity: int, sequence: int, *, count: int = 1, epoch: int = 0) -> Batch:
    return Batch(
        values=[b"%d" % (sequence + i) for i in range(count)],
        producer_id=identity,
        producer_epoch=epoch,
        base_sequence=sequence,
        # Kafka forgets producers by the time stamps of their batches.
        base_timestamp=int(time.time() * 1_000),
    )


@pytest.mark.parametrize("version", range(6))
def test_every_version_gives_each_producer_an_id_of_its_own(raw: RawClient, version: int) -> None:
    given = [producer_id(raw, version=version) for _ in range(3)]
    assert len({identity for identity, _ in given}) == 3
    assert {epoch for _, epoch in given} == {0}


def test_a_duplicate_is_answered_with_the_old_offset_and_not_stored(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    identity, _ = producer_id(raw)
    batches = [numbered(identity, sequence, count=2) for sequence in range(0, 10, 2)]
    assert [produce(raw, topic, batch).base_offset for batch in batches] == [0, 2, 4, 6, 8]
    for batch, offset in zip(batches, (0, 2, 4, 6, 8), strict=True):
        again = produce(raw, topic, batch)
        assert (again.error_code, again.base_offset) == (0, offset)
        assert again.log_append_time_ms >= 0
    assert list_offset(raw, topic, -1).offset == 10
    assert [b.base_offset for b in fetched_batches(raw, topic)] == [0, 2, 4, 6, 8]


def test_only_the_last_five_batches_are_remembered(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity, _ = producer_id(raw)
    for sequence in range(6):
        produce(raw, topic, numbered(identity, sequence))
    assert produce(raw, topic, numbered(identity, 0)).error_code in (OUT_OF_ORDER, 46)
    assert produce(raw, topic, numbered(identity, 1)).base_offset == 1
    assert list_offset(raw, topic, -1).offset == 6


def test_a_gap_is_out_of_order_and_the_next_in_line_is_still_taken(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    identity, _ = producer_id(raw)
    assert produce(raw, topic, numbered(identity, 0)).base_offset == 0
    assert produce(raw, topic, numbered(identity, 2)).error_code == OUT_OF_ORDER
    assert produce(raw, topic, numbered(identity, 1)).base_offset == 1
    assert produce(raw, topic, numbered(identity, 2)).base_offset == 2


def test_a_new_producer_may_begin_anywhere(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity, _ = producer_id(raw)
    assert produce(raw, topic, numbered(identity, 4_711)).error_code == 0
    assert produce(raw, topic, numbered(identity, 4_712)).error_code == 0


def test_sequences_wrap_around(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic()
    identity, _ = producer_id(raw)
    last = 2**31 - 1
    assert produce(raw, topic, numbered(identity, last - 1)).error_code == 0
    wrapping = Batch(values=[b"a", b"b"], producer_id=identity, producer_epoch=0, base_sequence=last)
    assert produce(raw, topic, wrapping).error_code == 0
    assert produce(raw, topic, numbered(identity, 1)).error_code == 0
    assert list_offset(raw, topic, -1).offset == 4


def test_an_older_epoch_is_fenced_and_a_newer_one_begins_at_zero(
    raw: RawClient, make_topic: MakeTopic
) -> None:
    topic = make_topic()
    identity, _ = producer_id(raw)
    assert produce(raw, topic, numbered(identity, 0, epoch=3)).error_code == 0
    assert produce(raw, topic, numbered(identity, 1, epoch=2)).error_code == INVALID_PRODUCER_EPOCH
    assert produce(raw, topic, numbered(identity, 7, epoch=4)).error_code == OUT_OF_ORDER
    assert produce(raw, topic, numbered(identity, 0, epoch=4)).error_code == 0
    assert produce(raw, topic, numbered(identity, 1, epoch=3)).error_code == INVALID_PRODUCER_EPOCH


def test_partitions_count_their_sequences_separately(raw: RawClient, make_topic: MakeTopic) -> None:
    topic = make_topic(partitions=2)
    identity, _ = producer_id(raw)
    for partition in (0, 1):
        assert produce(raw, topic, numbered(identity, 0), partition=partition).base_offset == 0
        assert produce(raw, topic, numbered(identity, 1), partition=partition).base_offset == 1


def test_epochs_rise_and_ids_change_when_a_producer_asks_to_go_on(raw: RawClient) -> None:
    identity, epoch = producer_id(raw)
    request = InitProducerIdRequest(
        transactional_id=None, transaction_timeout_ms=60_000, producer_id=identity, producer_epoch=epoch
    )
    answer = raw.call(request, 4)
    assert answer.error_code == 0
    assert (answer.producer_id, answer.producer_epoch) != (identity, epoch)


@pytest.mark.differs(reason="Kafka's snapshots keep one batch of each producer, ours the last five")
@pytest.mark.parametrize("way", ["stopped", "killed"])
def test_duplicates_are_known_after_a_restart(start_broker: StartBroker, way: str) -> None:
    broker = start_broker()
    create_topic(broker, "once")
    with raw_client(broker) as raw:
        identity, _ = producer_id(raw)
        assert [produce(raw, "once", numbered(identity, i)).base_offset for i in range(7)] == list(range(7))
    broker.kill() if way == "killed" else broker.stop()
    broker.restart()
    with raw_client(broker) as raw:
        known = (6,) if broker.kind == "kafka" else (2, 3, 4, 5, 6)
        assert [produce(raw, "once", numbered(identity, i)).base_offset for i in known] == list(known)
        assert produce(raw, "once", numbered(identity, 8)).error_code == OUT_OF_ORDER
        assert produce(raw, "once", numbered(identity, 7)).base_offset == 7
        assert producer_id(raw)[0] != identity
