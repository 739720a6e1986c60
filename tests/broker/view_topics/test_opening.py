"""Tests of broker/view_topics/opening.py."""

from __future__ import annotations

import json

from broker.loop.slices import Until
from broker.view_topics.opening import opened_batch
from protocol.compression import Codec
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import create, fetch, records_of, send
from tests.broker.views import named_client
from views.opening import SMALL_CONTENT_BYTES


def of(*values: bytes, codec: int = Codec.GZIP) -> bytearray:
    return encode_batch([Record(at, START_MS, None, value) for at, value in enumerate(values)], codec=codec)


def test_a_batch_that_opens_to_much_is_opened_by_a_thread() -> None:
    host = Gateway().broker.views
    steps = opened_batch(host, memoryview(of(bytes(SMALL_CONTENT_BYTES))))
    assert isinstance(next(steps), Until)


def test_a_batch_that_holds_little_needs_no_thread() -> None:
    host = Gateway().broker.views
    for codec in (Codec.GZIP, Codec.NONE):
        assert not [*opened_batch(host, memoryview(of(b"a", codec=codec)))]


def test_every_kind_of_view_shows_what_a_thread_has_opened() -> None:
    gateway = Gateway()
    client = named_client(gateway)
    create(client, "t", kawal_columns="id bigint")
    create(client, "plain", partitions=-1, kawal_sql="SELECT id FROM t WHERE id > 1")
    create(client, "routed", partitions=-1, kawal_sql="SELECT id FROM t WHERE id = 2")
    create(client, "bad", partitions=-1, kawal_sql="UNFIT t")
    padding = "x" * SMALL_CONTENT_BYTES
    given = [json.dumps({"id": number, "text": padding}).encode() for number in (1, 2, 3)]
    send(client, "t", of(*given, b"no"))
    shown = {name: [*records_of(fetch(client, name).records)] for name in ("plain", "routed", "bad")}
    assert [record.value for record in shown["plain"]] == [b'{"id":2}', b'{"id":3}']
    assert [record.value for record in shown["routed"]] == [b'{"id":2}']
    assert [record.value for record in shown["bad"]] == [b"no"]


def test_a_batch_that_a_thread_cannot_open_is_all_unfit() -> None:
    gateway = Gateway()
    client = named_client(gateway)
    create(client, "t", kawal_columns="id bigint")
    create(client, "view", partitions=-1, kawal_sql="SELECT id FROM t WHERE id > 1")
    data = of(bytes(17 << 20))
    send(client, "t", data)
    assert [*records_of(fetch(client, "view").records)] == []
    assert fetch(client, "view").high_watermark == 1
