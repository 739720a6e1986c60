"""kawal.session.headers: headers that a topic gives all records of a producer."""

from __future__ import annotations

from typing import Any

import pytest

from broker.storage.inspection import INSPECTED_RECORDS_MAX
from protocol.compression import Codec
from protocol.error_codes import ErrorCode
from protocol.record_reader import Headers, Record
from protocol.record_writer import encode_batch
from protocol.records import check_crc, iter_batches, read_batch_header
from tests.broker.gateway import START_MS, Client, Gateway
from tests.broker.kit import create, fetch, outcomes, producing, records_of, send
from tests.broker.numbered import headers as numbers
from tests.broker.numbered import numbered
from tests.broker.topic_requests import altered
from tests.broker.txn import Producer

SITE = "client:gw:site=plant-4"
ADDED = (("site", b"plant-4"),)


def made(
    count: int = 3,
    *,
    codec: int = Codec.NONE,
    own: Headers = (),
    producer: tuple[int, int, int] = (-1, -1, -1),
) -> bytearray:
    records = [Record(offset, START_MS + offset, b"k", b"%d" % offset, own) for offset in range(count)]
    return encode_batch(
        records, codec=codec, producer_id=producer[0], producer_epoch=producer[1], base_sequence=producer[2]
    )


def as_client(client: Client, name: bytes, data: bytearray) -> Any:
    client.send_under_name(name, producing(("t", 0, data)), 9)
    client.gateway.settle()
    (answer,) = outcomes(client.answers()[-1])
    return answer


def stored(client: Client) -> list[Record]:
    return list(records_of(fetch(client, "t").records))


@pytest.mark.parametrize("codec", list(Codec))
def test_records_of_the_client_have_the_header_beside_their_own(client: Client, codec: Codec) -> None:
    create(client, "t", kawal_session_headers=SITE)
    own = (("trace", b"1"), ("null", None))
    assert as_client(client, b"gw", made(codec=codec, own=own)).base_offset == 0
    assert stored(client) == [
        Record(offset, START_MS + offset, b"k", b"%d" % offset, (*own, *ADDED)) for offset in range(3)
    ]
    (batch,) = iter_batches(fetch(client, "t").records)
    assert check_crc(batch)
    assert read_batch_header(batch).codec == codec


def test_records_of_other_clients_are_stored_byte_for_byte(client: Client) -> None:
    create(client, "t", kawal_session_headers=SITE)
    data = made(codec=Codec.LZ4)
    sent = bytes(data)
    as_client(client, b"other", data)
    assert bytes(fetch(client, "t").records)[16:] == sent[16:]


def test_a_record_cannot_give_itself_another_value(client: Client) -> None:
    create(client, "t", kawal_session_headers=SITE)
    as_client(client, b"gw", made(1, own=(("site", b"forged"), ("site", b"twice"), ("a", b"b"))))
    assert stored(client)[0].headers == (("a", b"b"), *ADDED)


def test_records_of_a_transaction_have_those_of_its_id(gateway: Gateway, client: Client) -> None:
    create(client, "t", kawal_session_headers="transaction:tx:site=office")
    producer = Producer(gateway, "tx")
    producer.write("t", 0, b"a")
    producer.commit()
    assert stored(client)[0].headers == (("site", b"office"),)


def test_a_large_batch_is_written_anew_in_a_thread(client: Client) -> None:
    create(client, "t", kawal_session_headers=SITE)
    count = INSPECTED_RECORDS_MAX + 1
    assert as_client(client, b"gw", made(count, codec=Codec.ZSTD)).base_offset == 0
    assert [record.headers for record in stored(client)] == [ADDED] * count


def test_a_batch_sent_again_is_stored_once_though_it_was_written_anew(client: Client) -> None:
    create(client, "t", kawal_session_headers=SITE)
    answers = [as_client(client, b"gw", made(2, producer=(9, 0, 0))).base_offset for _ in range(2)]
    assert (answers, len(stored(client))) == ([0, 0], 2)


def test_repetitions_are_dropped_from_a_batch_that_gets_headers(client: Client) -> None:
    create(client, "t", kawal_session_headers=SITE, kawal_dedup="seqno")
    as_client(client, b"gw", numbered(1, 2))
    as_client(client, b"gw", numbered(2, 3))
    assert [(record.offset, record.headers) for record in stored(client)] == [
        (offset, (*numbers(b"sensor", seqno), *ADDED)) for offset, seqno in ((0, 1), (1, 2), (3, 3))
    ]


def test_a_batch_that_headers_make_too_large_is_refused_as_too_large(client: Client) -> None:
    data = made(2)
    create(client, "t", kawal_session_headers=SITE, max_message_bytes=str(len(data)))
    answer = as_client(client, b"gw", data)
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert "kawal.session.headers" in answer.error_message
    assert as_client(client, b"other", made(2)).error_code == 0


def test_a_batch_that_would_expand_to_more_than_readers_accept_is_refused(client: Client) -> None:
    create(client, "t", kawal_session_headers="client:gw:long=" + "x" * 1_000)
    answer = as_client(client, b"gw", made(17_000, codec=Codec.ZSTD))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE
    assert stored(client) == []


def test_records_that_cannot_be_written_anew_are_refused(client: Client) -> None:
    create(client, "t", kawal_session_headers=SITE)
    records = [Record(offset, START_MS, None, b"1") for offset in (0, 7)]
    data = encode_batch(records, last_offset=7)
    assert as_client(client, b"gw", data).error_code == ErrorCode.INVALID_RECORD


def test_the_setting_takes_effect_while_a_producer_is_connected(client: Client) -> None:
    create(client, "t")
    send(client, "t", made(1))
    assert altered(client, "t", "kawal.session.headers", "client:test:a=1") == (0, "")
    send(client, "t", made(1))
    assert altered(client, "t", "kawal.session.headers", None) == (0, "")
    send(client, "t", made(1))
    assert [record.headers for record in stored(client)] == [(), (("a", b"1"),), ()]


def test_entries_that_are_wrong_are_refused_with_a_sentence(client: Client) -> None:
    create(client, "t")
    code, said = altered(client, "t", "kawal.session.headers", "client:gw:site")
    assert code == ErrorCode.INVALID_CONFIG
    assert "client:ID:NAME=VALUE" in said
