"""kawal.dedup=seqno: what a producer has written before, under its own name, is not stored again."""

from __future__ import annotations

import errno

import pytest

from broker.storage.numbered_records import NAMES_PER_BATCH_MAX
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, outcomes, producing, send
from tests.broker.numbered import dedup_topic, headers, numbered, of_records, sent, stored
from tests.broker.topic_requests import altered
from tests.broker.txn import TV1, TV2, Producer
from wal.memory_faults import failing

AGAIN = ErrorCode.NOT_ENOUGH_REPLICAS
DAY_MS = 86_400_000


def test_a_number_that_is_not_above_the_last_one_is_dropped_and_answered_as_stored(client: Client) -> None:
    dedup_topic(client)
    assert sent(client, 5) == (0, 0)
    assert [sent(client, seqno) for seqno in (5, 3, 0)] == [(0, -1)] * 3
    assert sent(client, 9) == (0, 1)
    assert stored(client) == [(0, 5), (1, 9)]


def test_producers_and_topics_do_not_know_of_each_other(client: Client) -> None:
    dedup_topic(client)
    dedup_topic(client, "other")
    assert sent(client, 5) == (0, 0)
    assert sent(client, 5, name=b"another") == (0, 1)
    assert send(client, "other", numbered(5)).base_offset == 0


@pytest.mark.parametrize("codec", list(Codec))
def test_the_rest_of_a_batch_keeps_its_offsets_and_its_codec(client: Client, codec: Codec) -> None:
    dedup_topic(client)
    assert sent(client, 1, 2, 3) == (0, 0)
    answer = send(client, "t", numbered(2, 3, 4, 5, codec=codec))
    assert (answer.error_code, answer.base_offset) == (0, 3)
    assert stored(client) == [(0, 1), (1, 2), (2, 3), (5, 4), (6, 5)]
    assert sent(client, 6) == (0, 7)


def test_repetitions_within_a_batch_are_dropped(client: Client) -> None:
    dedup_topic(client)
    assert sent(client, 4, 4, 2, 7) == (0, 0)
    assert stored(client) == [(0, 4), (3, 7)]


def test_one_batch_may_have_records_of_several_producers(client: Client) -> None:
    dedup_topic(client)
    send(client, "t", of_records([(b"a", 1), (b"b", 8)]))
    send(client, "t", of_records([(b"a", 2), (b"b", 8), (b"c", 1), (b"a", 2)]))
    assert stored(client) == [(0, 1), (1, 8), (2, 2), (4, 1)]


BAD = {
    "no headers": ((), "has no header 'kawal-producer-id'"),
    "no number": ((("kawal-producer-id", b"a"),), "has no header 'kawal-seqno'"),
    "null name": ((("kawal-producer-id", None), headers(b"a", 1)[1]), "has no header 'kawal-producer-id'"),
    "empty name": (headers(b"", 1), "has 0 bytes; give 1 to 256"),
    "long name": (headers(b"a" * 257, 1), "has 257 bytes; give 1 to 256"),
    "short number": ((headers(b"a", 1)[0], ("kawal-seqno", b"1")), "has 1 bytes; give an int64"),
    "negative number": (headers(b"a", -1), "is -1; give 0 or more"),
}


@pytest.mark.parametrize("case", BAD)
def test_records_with_bad_headers_are_named_and_nothing_is_stored(client: Client, case: str) -> None:
    dedup_topic(client)
    bad, said = BAD[case]
    good = headers(b"a", 1)
    data = encode_batch(
        [Record(index, START_MS, None, b"1", found) for index, found in enumerate((good, bad, good))]
    )
    answer = send(client, "t", data)
    assert answer.error_code == ErrorCode.INVALID_RECORD
    ((index, why),) = [(error.batch_index, error.batch_index_error_message) for error in answer.record_errors]
    assert index == 1
    assert said in why
    assert stored(client) == []


def test_of_a_header_that_comes_twice_the_last_one_counts(client: Client) -> None:
    dedup_topic(client)
    data = encode_batch([Record(0, START_MS, None, b"7", (*headers(b"a", -5), *headers(b"sensor", 7)))])
    assert send(client, "t", data).error_code == 0
    assert sent(client, 7) == (0, -1)


def test_a_batch_has_a_limited_number_of_producers(client: Client) -> None:
    dedup_topic(client)
    rows = [(b"%d" % number, 1) for number in range(NAMES_PER_BATCH_MAX + 1)]
    answer = send(client, "t", of_records(rows))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert [error.batch_index for error in answer.record_errors] == [NAMES_PER_BATCH_MAX]
    assert send(client, "t", of_records(rows[1:])).error_code == 0


def test_other_topics_take_records_without_these_headers(client: Client) -> None:
    create(client, "t")
    assert [sent(client, 5), sent(client, 5)] == [(0, 0), (0, 1)]


def test_a_topic_can_begin_and_cease_to_drop_repetitions(client: Client) -> None:
    create(client, "t")
    sent(client, 5)
    assert altered(client, "t", "kawal.dedup", "seqno") == (0, "")
    assert [sent(client, seqno) for seqno in (5, 5)] == [(0, 1), (0, -1)]
    assert altered(client, "t", "kawal.dedup", None) == (0, "")
    assert sent(client, 5) == (0, 2)


# --- durability ----------------------------------------------------------------------------------------


def test_numbers_outlive_a_restart_and_a_crash(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(client)
    sent(client, 5)
    gateway.restart()
    client = gateway.client()
    assert [sent(client, seqno) for seqno in (5, 6)] == [(0, -1), (0, 1)]
    gateway.crash()
    client = gateway.client()
    assert [sent(client, seqno) for seqno in (6, 7)] == [(0, -1), (0, 2)]
    assert stored(client) == [(0, 5), (1, 6), (2, 7)]


def test_numbers_outlive_their_records(gateway: Gateway) -> None:
    client = gateway.client()
    dedup_topic(client)
    sent(client, 5)
    partition = gateway.partition("t")
    partition.vnode.log.set_log_start(partition.stream_id, 1)
    gateway.settle()
    gateway.restart()
    client = gateway.client()
    assert sent(client, 5) == (0, -1)


def test_a_repetition_is_answered_only_when_the_original_is_durable(gateway: Gateway, client: Client) -> None:
    dedup_topic(client)
    client.send(producing(("t", 0, numbered(5))), 9)
    other = gateway.client()
    other.send(producing(("t", 0, numbered(5))), 9)
    assert client.answers() + other.answers() == []
    gateway.settle()
    offsets = [outcomes(answer)[0].base_offset for answer in client.answers() + other.answers()]
    assert offsets == [0, -1]


def test_a_failed_sync_takes_number_and_repetition_back_and_both_can_be_sent_again(
    gateway: Gateway, client: Client
) -> None:
    dedup_topic(client)
    index = gateway.partition("t").vnode.index
    gateway.disk.faults.append(failing("sync", errno.EIO, path=f"vnode-{index}"))
    client.send(producing(("t", 0, numbered(5))), 9)
    client.send(producing(("t", 0, numbered(5))), 9)
    gateway.settle()
    codes = [outcomes(answer)[0].error_code for answer in client.answers()]
    assert codes == [ErrorCode.KAFKA_STORAGE_ERROR] * 2
    gateway.disk.faults.clear()
    gateway.advance(10_000)
    assert sent(client, 5) == (0, 0)
    assert stored(client) == [(0, 5)]


# --- idempotent and transactional producers ------------------------------------------------------------


def test_sequences_of_an_idempotent_producer_go_on_over_what_was_dropped(
    gateway: Gateway, client: Client
) -> None:
    dedup_topic(client)
    sent(client, 4)
    for sequence, seqnos in enumerate(((1, 2), (3, 4), (4, 5), (6, 7))):
        answer = send(client, "t", numbered(*seqnos, producer=(9, 0, 2 * sequence)))
        assert (answer.error_code, answer.base_offset) == (0, 1 + 2 * sequence)
    repeated = send(client, "t", numbered(4, 5, producer=(9, 0, 4)))
    assert (repeated.error_code, repeated.base_offset) == (0, 5)
    assert stored(client) == [(0, 4), (6, 5), (7, 6), (8, 7)]
    gateway.crash()
    client = gateway.client()
    assert send(client, "t", numbered(8, producer=(9, 0, 8))).error_code == 0


def write(producer: Producer, *seqnos: int, name: bytes = b"sensor", partition: int = 0) -> int:
    """Produce within the producer's transaction."""
    if producer.protocol == TV1:
        assert producer.add(("t", partition)) == [0]
    sequence = producer.sequences.get(("t", partition), 0)
    data = numbered(
        *seqnos, name=name, producer=(producer.producer_id, producer.epoch, sequence), transactional=True
    )
    request = producing(("t", partition, data))
    request.transactional_id = producer.name
    (outcome,) = outcomes(producer.client.call(request, producer.produce_version))
    if outcome.error_code == 0:
        producer.sequences["t", partition] = sequence + len(seqnos)
    return int(outcome.error_code)


@pytest.mark.parametrize("protocol", [TV1, TV2])
def test_numbers_of_an_aborted_transaction_may_be_written_again_those_of_a_committed_one_not(
    gateway: Gateway, client: Client, protocol: int
) -> None:
    dedup_topic(client)
    producer = Producer(gateway, protocol=protocol)
    assert write(producer, 5, 6) == 0
    assert producer.abort() == 0
    assert write(producer, 5, 6) == 0
    assert write(producer, 6, 7) == 0
    assert producer.commit() == 0
    assert [sent(client, seqno)[1] for seqno in (6, 7)] == [-1, -1]
    gateway.crash()
    client = gateway.client()
    assert sent(client, 7) == (0, -1)
    assert sent(client, 8)[0] == 0


def test_an_open_transaction_keeps_others_from_writing_under_the_same_name(
    gateway: Gateway, client: Client
) -> None:
    dedup_topic(client)
    sent(client, 4)
    producer, other = Producer(gateway), Producer(gateway, "other")
    assert write(producer, 5) == 0
    answer = send(client, "t", numbered(5))
    assert answer.error_code == AGAIN
    assert "'sensor': an open transaction has written with this id" in answer.error_message
    assert write(other, 5) == AGAIN
    assert sent(client, 4) == (0, -1)
    assert sent(client, 5, name=b"another")[0] == 0
    assert producer.abort() == 0
    assert sent(client, 5)[0] == 0


def test_a_transaction_that_is_open_at_a_crash_is_decided_after_it(gateway: Gateway, client: Client) -> None:
    dedup_topic(client)
    producer = Producer(gateway)
    assert write(producer, 5) == 0
    gateway.crash()
    client = gateway.client()
    assert sent(client, 5)[0] == AGAIN
    again = Producer(gateway)
    assert again.producer_id == producer.producer_id
    gateway.settle()
    assert sent(client, 5)[0] == 0


def test_producers_of_ever_more_names_in_many_partitions_take_no_more_memory_than_they_may() -> None:
    gateway = Gateway(kawal_vnodes=1, kawal_named_producers_max_bytes=40_000)
    client = gateway.client()
    dedup_topic(client, partitions=8)
    codes = [
        send(client, "t", numbered(1, name=b"p%d" % number), partition=number % 8).error_code
        for number in range(200)
    ]
    (named,) = (vnode.log.named_producers for vnode in gateway.broker.vnodes.every[1:])
    assert named.size_bytes <= 40_000
    assert codes[:100] == [0] * 100
    assert codes[-1] == ErrorCode.POLICY_VIOLATION
    assert sent(client, 2, name=b"p0")[0] == 0
