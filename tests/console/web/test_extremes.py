"""Extremes that users of other consoles met: all are shown as they are stored, on pages of bounded size."""

from __future__ import annotations

import json
from typing import Final

import pytest
import trio
import trio.testing

from broker.server.http_conversation import converse
from console.web import site
from console.web.pages import searching
from console.web.search_bounds import Bounds
from protocol.compression import Codec
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web

LARGEST: Final = 9223372036854775807
MILLION: Final = 1_000_000
IN_A_BATCH: Final = 20_000
BIDI: Final = "\u202egnp.exe\u202c \u2066x\u2069 \u200b"


def of_columns(columns: str, **configs: str) -> Web:
    web = Web()
    create(web.broker.client(), "t", 1, kawal_columns=columns, **configs)
    return web


def test_a_search_of_a_million_records_ends_there_and_goes_on_by_a_link(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # However busy the machine is: it is the number of records that ends it here.
    monkeypatch.setattr(searching, "Bounds", lambda: Bounds(seconds=3_600))
    monkeypatch.setattr(site, "PAGE_SECONDS", 3_600)
    web = of_columns("n bigint")
    data = bytes(batch(*(b'{"n":%d}' % n for n in range(IN_A_BATCH)), codec=Codec.ZSTD))
    for _ in range(MILLION // IN_A_BATCH + 1):
        assert send(web.broker.client(), "t", data).error_code == 0
    page = web.get(f"/topics/t/records?where=n+%3D+{IN_A_BATCH - 1}&order=oldest")
    assert "1,000,000 of 1,020,000 looked at, 50 found. It was stopped" in page.text
    assert page.html.count("<tr>") == 51
    (further,) = page.links("look further →")
    page = web.get(further)
    assert "1,020,000 of 1,020,000 looked at, 1 found." in page.text
    assert page.links(str(51 * IN_A_BATCH - 1)) == [f"/topics/t/records/0/{51 * IN_A_BATCH - 1}"]
    # More matches than a page has rows: it ends soon, and says so.
    page = web.get("/topics/t/records?where=n+%3E+-1")
    assert page.html.count("<tr>") == 201
    assert len(page.body) < 300_000
    assert page.links("the next matches →")


def test_values_of_a_mebibyte_make_small_pages_of_every_kind_and_a_whole_file() -> None:
    web = of_columns("id bigint, text string", max_message_bytes=str(2 << 20))
    value = b'{"id":7,"text":"%s"}' % (b"x" * ((1 << 20) - 18))
    assert len(value) == 1 << 20
    for _ in range(3):
        assert send(web.broker.client(), "t", batch(value)).error_code == 0
    for path in ("records", "records?where=id+%3D+7", "records?cols=text", "tail", "unfit", "columns"):
        page = web.get(f"/topics/t/{path}")
        assert page.status == 200
        assert len(page.body) < 40_000, path
    assert "… 1 MiB" in web.get("/topics/t/records").text
    assert len(web.get("/topics/t/records/0/2").body) < 300_000
    assert web.get("/topics/t/records/0/2/value").body == value


def test_binary_keys_are_told_from_text_and_come_back_byte_for_byte() -> None:
    web = of_columns("id bigint")
    keys = (b"\xff\x00\x80", bytes(range(256)), b"plain", b"\xc3\x28", b"")
    for key in keys:
        send(web.broker.client(), "t", batch(b"{}", key=key))
    rows = json.loads(web.get("/topics/t/records?order=oldest&as=json").body)
    assert (rows[0]["key"], rows[2]["key"]) == ("base64:/wCA", "plain")
    for offset, key in enumerate(keys):
        assert web.get(f"/topics/t/records/0/{offset}").status == 200
        assert web.get(f"/topics/t/records/0/{offset}/key").body == key


def test_the_largest_integers_have_all_their_digits_in_every_form() -> None:
    web = of_columns("id bigint, other bigint")
    send(web.broker.client(), "t", batch(b'{"id":%d,"other":%d}' % (LARGEST, -LARGEST - 1)))
    digits = (str(LARGEST), str(-LARGEST - 1))
    for path in ("records", f"records?where=id+%3D+{LARGEST}", "tail", "records/0/0"):
        text = web.get(f"/topics/t/{path}").text
        assert all(found in text for found in digits), path
    assert "no record matches" in web.get(f"/topics/t/records?where=id+%3D+{LARGEST - 1}").text.lower()
    for form in ("json", "jsonl", "csv"):
        body = web.get(f"/topics/t/records?cols=id,other&as={form}").body.decode()
        assert all(found in body for found in digits), form


def test_text_that_turns_the_line_around_or_cannot_be_seen_is_shown_as_escapes_everywhere() -> None:
    web = of_columns("id bigint, note string")
    send(
        web.broker.client(),
        "t",
        batch(json.dumps({"id": 1, "note": BIDI}, ensure_ascii=False).encode(), key=BIDI.encode()),
    )
    for path in ("records", "records?where=id+%3D+1", "records?cols=note", "tail", "records/0/0"):
        page = web.get(f"/topics/t/{path}")
        assert "\\u202egnp.exe\\u202c" in page.text, path
        assert not set(page.html) & set("\u202e\u202c\u2066\u2069\u200b"), path
    (row,) = json.loads(web.get("/topics/t/records?as=json").body)
    assert row["key"] == BIDI  # programs get what is stored


def test_a_tail_goes_on_after_the_broker_was_away_without_a_gap_or_a_repetition() -> None:
    web = of_columns("id bigint")
    send(web.broker.client(), "t", batch(b'{"id":1111}'))

    async def until(stream: trio.abc.ReceiveStream, word: bytes, answer: bytearray) -> None:
        while word not in answer:
            answer += await stream.receive_some()

    async def main() -> bytes:
        ours, theirs = trio.testing.memory_stream_pair()
        answer = bytearray()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(converse, web.console, theirs, "127.0.0.1")
            await ours.send_all(b"GET /topics/t/tail/events?at=0:0 HTTP/1.1\r\nHost: localhost\r\n\r\n")
            await until(ours, b"id: 0:1\n", answer)
            web.away = True
            await until(ours, b"the broker is away", answer)
            send(web.broker.client(), "t", batch(b'{"id":2222}'))
            web.away = False
            await until(ours, b"id: 0:2\n", answer)
            await ours.aclose()
        return bytes(answer)

    events = trio.run(main, clock=trio.testing.MockClock(rate=50))
    assert events.count(b"/records/0/0") == 1
    assert events.count(b"/records/0/1") == 1
