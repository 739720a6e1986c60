"""Partitions whose successors lie on another log: what is sent to them is stored there, once and in order."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.catalogue.test_renewal import MODE, SPEED_CONFIG, begin, filled
from tests.broker.gateway import Client, Gateway
from tests.broker.handlers.test_describe_producers import ask
from tests.broker.kit import create, send
from tests.broker.numbered import of_records
from tests.broker.splits import HIGH, LOW, keyed, split, split_topic, tree, values_of
from tests.broker.storage.test_routing import KeyedProducer, committed
from tests.broker.topic_requests import altered, partition_count
from tests.broker.txn import TV1, TV2


@pytest.fixture
def gateway() -> Gateway:
    """Return a gateway with two logs, as many as there are by default."""
    return Gateway(kawal_vnodes=2)


@pytest.fixture
def client(gateway: Gateway) -> Client:
    return gateway.client()


def sent(client: Client, partition: int, sequence: int, *rows: tuple[bytes | None, bytes]) -> Any:
    """Send an idempotent batch and return the outcome."""
    return send(client, "t", keyed(*rows, producer=(7, 0, sequence)), partition)


def vnodes(gateway: Gateway, count: int) -> list[int]:
    return [gateway.partition("t", index).vnode.index for index in range(count)]


def test_all_successors_lie_on_one_log_and_what_was_there_stays(gateway: Gateway, client: Client) -> None:
    filled(client, 3)
    before = vnodes(gateway, 3)
    assert before[0] == before[2] != before[1]
    begin(client)
    assert vnodes(gateway, 6) == before + 3 * before[:1]
    assert split(client, 4) == (0, "")
    gateway.restart()
    assert vnodes(gateway, 7) == before + 4 * before[:1]


def test_the_tree_says_which_partitions_are_closed(client: Client) -> None:
    filled(client)
    begin(client)
    rows = [(row.partition, row.start, row.end, row.why_not) for row in tree(client)]
    assert rows == [
        (0, 0, 2, ""),
        (0, 2, -1, "its keys go to partition 2"),
        (1, 0, 2, "closed for partition 3"),
        (2, 0, -1, ""),
        (3, 0, -1, ""),
    ]


def test_several_logs_need_the_barrier(client: Client) -> None:
    filled(client)
    assert altered(client, "t", "kawal.split.barrier", "false") == (0, "")
    code, message = altered(client, "t", MODE, "up")
    assert code == ErrorCode.INVALID_CONFIG
    assert "lie on 2 vnodes" in message
    assert "kawal.split.barrier" in message


def test_a_batch_from_before_the_closing_is_recognised_after_later_ones(client: Client) -> None:
    filled(client)
    assert sent(client, 1, 0, (HIGH, b"0")).base_offset == 2
    begin(client)
    assert sent(client, 1, 1, (HIGH, b"1"), (LOW, b"2"), (None, b"3")).error_code == 0
    assert sent(client, 1, 0, (HIGH, b"0")).base_offset == 2
    assert sent(client, 1, 1, (HIGH, b"1"), (LOW, b"2"), (None, b"3")).error_code == 0
    assert [values_of(client, index) for index in (1, 2, 3)] == [[b"h1", b"l1", b"0"], [b"2"], [b"1", b"3"]]


def test_a_gap_is_refused_in_the_first_batch_after_the_closing_and_later(client: Client) -> None:
    filled(client)
    assert sent(client, 1, 0, (HIGH, b"0")).error_code == 0
    begin(client)
    assert sent(client, 1, 2, (HIGH, b"2")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert sent(client, 1, 1, (HIGH, b"1")).error_code == 0
    assert sent(client, 1, 3, (HIGH, b"3")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert values_of(client, 3) == [b"1"]


@pytest.mark.parametrize("how", ["settle", "restart", "crash"])
def test_sequences_in_a_closed_partition_and_in_its_successor_do_not_meet(gateway: Gateway, how: str) -> None:
    client = gateway.client()
    filled(client)
    begin(client)
    for sequence in range(3):
        assert sent(client, 1, sequence, (HIGH, b"closed %d" % sequence)).error_code == 0
        if not sequence:
            assert sent(client, 3, 0, (HIGH, b"open")).error_code == 0
        getattr(gateway, how)()
        client = gateway.client()
        assert sent(client, 1, sequence, (HIGH, b"closed %d" % sequence)).error_code == 0
        assert sent(client, 3, 0, (HIGH, b"open")).error_code == 0
    assert values_of(client, 3) == [b"closed 0", b"open", b"closed 1", b"closed 2"]


def test_no_client_sees_the_ids_under_which_sequences_are_kept(client: Client) -> None:
    filled(client)
    begin(client)
    sent(client, 1, 0, (HIGH, b"1"))
    sent(client, 3, 0, (HIGH, b"2"))
    (found,) = ask(client, ("t", [3]))
    assert [producer.producer_id for producer in found.active_producers] == [7]


def test_an_older_epoch_is_refused_in_a_closed_partition(client: Client) -> None:
    filled(client)
    assert send(client, "t", keyed((HIGH, b"1"), producer=(7, 1, 0)), 1).error_code == 0
    begin(client)
    stale = keyed((HIGH, b"stale"), producer=(7, 0, 1))
    assert send(client, "t", bytearray(stale), 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert send(client, "t", keyed((HIGH, b"2"), producer=(7, 2, 0)), 1).error_code == 0
    between = keyed((HIGH, b"between"), producer=(7, 1, 1))
    assert send(client, "t", bytearray(between), 1).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert values_of(client, 3) == [b"2"]


@pytest.mark.parametrize("protocol", [TV1, TV2])
@pytest.mark.parametrize("commit", [True, False])
def test_a_transaction_that_is_open_at_the_closing_ends_on_both_logs(
    gateway: Gateway, protocol: int, commit: bool
) -> None:
    client = gateway.client()
    filled(client)
    producer = KeyedProducer(gateway, protocol=protocol)
    assert producer.write_keys(HIGH, LOW, partition=1) == 0
    begin(client)
    assert producer.write_keys(HIGH, LOW, partition=1) == 0
    assert producer.write_keys(LOW, partition=1) == 0
    assert [committed(client, index) for index in (1, 2, 3)] == [[b"h1", b"l1"], [], []]
    assert producer.end(commit=commit) == 0
    gateway.settle()
    assert committed(client, 1) == [b"h1", b"l1", *([HIGH, LOW] if commit else [])]
    assert committed(client, 2) == ([LOW, LOW] if commit else [])
    assert committed(client, 3) == ([HIGH] if commit else [])
    assert producer.write_keys(HIGH, partition=1) == 0
    assert producer.commit() == 0
    gateway.settle()
    assert committed(client, 3)[-1:] == [HIGH]
    for index in range(4):
        partition = gateway.partition("t", index)
        assert partition.last_stable_offset == partition.high_watermark


def test_a_batch_of_repetitions_alone_leaves_its_sequence(client: Client) -> None:
    create(client, "t", 2, **SPEED_CONFIG, kawal_dedup="seqno")
    assert send(client, "t", of_records([(b"meter", 1)], producer=(7, 0, 0)), 1).error_code == 0
    begin(client)
    for sequence, number in ((1, 1), (1, 1), (2, 2), (2, 2), (3, 1)):
        sent = of_records([(b"meter", number)], producer=(7, 0, sequence))
        assert send(client, "t", sent, 1).error_code == 0
    assert sum(len(values_of(client, index)) for index in range(4)) == 2


def test_partitions_are_not_split_while_the_end_of_their_log_is_unknown(gateway: Gateway) -> None:
    client = gateway.client()
    split_topic(client)
    gateway.partition("t").vnode.log.quarantine(OSError("the disk is gone"))
    code, message = split(client)
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert "is failed; try again" in message
    assert partition_count(client, "t") == 1


def test_the_mode_is_not_set_while_the_end_of_a_log_is_unknown(gateway: Gateway, client: Client) -> None:
    filled(client)
    gateway.partition("t", 1).vnode.log.quarantine(OSError("the disk is gone"))
    code, _ = altered(client, "t", MODE, "up")
    assert code == ErrorCode.KAFKA_STORAGE_ERROR
    assert partition_count(client, "t") == 2


@pytest.mark.parametrize("how", ["settle", "restart", "crash"])
def test_a_producer_that_too_many_others_made_forget_goes_on_in_a_closed_partition(how: str) -> None:
    gateway = Gateway(kawal_vnodes=2, kawal_max_producers_per_partition=4)
    client = gateway.client()
    filled(client)
    assert sent(client, 1, 0, (HIGH, b"0")).error_code == 0
    begin(client)
    assert sent(client, 1, 1, (HIGH, b"1")).error_code == 0
    for other in range(20, 26):
        assert send(client, "t", keyed((HIGH, b"other"), producer=(other, 0, 0)), 1).error_code == 0
    getattr(gateway, how)()
    client = gateway.client()
    assert sent(client, 1, 2, (HIGH, b"2")).error_code == 0
    assert sent(client, 1, 2, (HIGH, b"2")).error_code == 0, "it is known again"
    assert sent(client, 1, 4, (HIGH, b"4")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert [value for value in values_of(client, 3) if value != b"other"] == [b"1", b"2"]


def test_as_long_as_none_is_forgotten_no_producer_has_a_gap() -> None:
    gateway = Gateway(kawal_vnodes=2, kawal_max_producers_per_partition=4)
    client = gateway.client()
    filled(client)
    assert sent(client, 1, 0, (HIGH, b"0")).error_code == 0
    begin(client)
    for other in range(20, 23):
        assert sent(client, 1, 2, (HIGH, b"2")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert send(client, "t", keyed((HIGH, b"other"), producer=(other, 0, 0)), 1).error_code == 0
    assert sent(client, 1, 2, (HIGH, b"2")).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert sent(client, 1, 1, (HIGH, b"1")).error_code == 0


def test_idle_producers_are_forgotten_in_a_closed_partition_no_later_than_in_its_successor() -> None:
    gateway = Gateway(kawal_vnodes=2, producer_id_expiration_ms=60_000)
    client = gateway.client()
    filled(client)
    assert sent(client, 1, 0, (HIGH, b"0")).error_code == 0
    begin(client)
    assert sent(client, 1, 1, (HIGH, b"1")).error_code == 0
    gateway.advance(30 * 60_000)
    client = gateway.client()
    assert sent(client, 1, 5, (HIGH, b"5")).error_code == 0
