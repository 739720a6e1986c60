"""Produce by idempotent producers: every batch is stored once and in order, whatever is sent again."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.error_codes import ErrorCode
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import batch, create, offset_of, outcomes, producing, read, send

TOPICS = {"t": 1}


SEQUENCE_MAX = 2**31 - 1


def numbered(client: Client, sequence: int, *, epoch: int = 0, count: int = 1, producer_id: int = 5) -> Any:
    values = [b"%d" % (sequence + number) for number in range(count)]
    return send(client, "t", batch(*values, producer=(producer_id, epoch, sequence)))


def test_a_batch_sent_again_answers_its_old_place_and_time(client: Client) -> None:
    numbered(client, 0, count=3)
    numbered(client, 3)
    again = numbered(client, 0, count=3)
    assert (again.error_code, again.base_offset, again.log_append_time_ms) == (0, 0, START_MS)
    assert read(client, "t") == [b"0", b"1", b"2", b"3"]


def test_the_last_five_batches_are_known_and_the_sixth_last_is_out_of_order(client: Client) -> None:
    for sequence in range(6):
        numbered(client, sequence)
    assert [numbered(client, sequence).base_offset for sequence in range(1, 6)] == [1, 2, 3, 4, 5]
    assert numbered(client, 0).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_a_gap_is_out_of_order(client: Client) -> None:
    numbered(client, 0)
    assert numbered(client, 2).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert numbered(client, 1).base_offset == 1


def test_an_unknown_producer_may_begin_anywhere(client: Client) -> None:
    assert numbered(client, 77).error_code == 0
    assert numbered(client, 78).error_code == 0


def test_a_new_epoch_begins_at_zero_and_fences_the_old_one(client: Client) -> None:
    numbered(client, 0)
    assert numbered(client, 1, epoch=1).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert numbered(client, 0, epoch=1).base_offset == 1
    assert numbered(client, 1, epoch=0).error_code == ErrorCode.INVALID_PRODUCER_EPOCH


def test_sequences_wrap_behind_the_largest_number(client: Client) -> None:
    numbered(client, SEQUENCE_MAX - 1, count=3)
    assert numbered(client, 1).base_offset == 3


def test_producers_and_partitions_do_not_share_sequences(client: Client) -> None:
    create(client, "u")
    numbered(client, 0)
    assert numbered(client, 0, producer_id=6).base_offset == 1
    assert send(client, "u", batch(b"x", producer=(5, 0, 0))).base_offset == 0


@pytest.mark.parametrize("crashes", [True, False])
def test_a_retry_after_a_restart_is_still_a_duplicate(
    gateway: Gateway, client: Client, crashes: bool
) -> None:
    for sequence in range(4):
        numbered(client, sequence)
    if crashes:
        gateway.crash()
    else:
        gateway.restart()
    client = gateway.client()
    assert [numbered(client, sequence).base_offset for sequence in range(4)] == [0, 1, 2, 3]
    assert numbered(client, 4).base_offset == 4
    assert read(client, "t") == [b"0", b"1", b"2", b"3", b"4"]


def test_a_duplicate_of_a_batch_on_its_way_waits_for_the_disk_too(gateway: Gateway, client: Client) -> None:
    request = producing(("t", 0, batch(b"0", producer=(5, 0, 0))))
    client.send(request, 9)
    other = gateway.client()
    other.send(request, 9)
    assert (client.answers(), other.answers()) == ([], [])
    gateway.settle()
    (first,), (second,) = client.answers(), other.answers()
    assert [outcomes(first)[0].base_offset, outcomes(second)[0].base_offset] == [0, 0]
    assert read(client, "t") == [b"0"]


def test_pipelined_batches_are_stored_in_order_or_not_at_all(gateway: Gateway, client: Client) -> None:
    for sequence in (0, 1, 3, 2, 4):
        client.send(producing(("t", 0, batch(b"%d" % sequence, producer=(5, 0, sequence)))), 9)
    gateway.settle()
    codes = [outcomes(answer)[0].error_code for answer in client.answers()]
    out_of_order = ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert codes == [0, 0, out_of_order, 0, out_of_order]
    assert read(client, "t") == [b"0", b"1", b"2"]


def test_a_refused_batch_leaves_the_sequence_as_it_was(client: Client) -> None:
    numbered(client, 0)
    create(client, "timed", message_timestamp_before_max_ms="1")
    late = batch(b"x", timestamp_ms=5, producer=(5, 0, 0))
    assert send(client, "timed", late).error_code == ErrorCode.INVALID_TIMESTAMP
    assert send(client, "timed", batch(b"x", producer=(5, 0, 0))).base_offset == 0


def test_producers_expire_when_they_are_idle(gateway: Gateway) -> None:
    gateway = Gateway(producer_id_expiration_ms=60_000, log_retention_check_interval_ms=10_000)
    client = gateway.client()
    create(client, "t")
    numbered(client, 0)
    gateway.advance(200_000)
    assert numbered(client, 9).base_offset == 1
    assert offset_of(client, "t", -1).offset == 2
