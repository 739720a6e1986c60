"""Records written by hand: the form, the preview, and what is stored."""

from __future__ import annotations

import re
from html import unescape

import pytest

from console.web.masks import Masks, parse_mask
from protocol.messages.produce import ProduceRequest
from protocol.record_reader import Record, iter_records
from protocol.record_writer import encode_batch
from protocol.records import iter_batches
from tests.broker.kit import create, fetch, send
from tests.console.web.kit import Answered, Web

ORDER = Record(0, 5, b"\xff", b'{"n":9007199254740993}', (("trace", b"\x00\x01"), ("none", None)))


def orders(**settings: object) -> Web:
    web = Web(**settings)  # type: ignore[arg-type]
    # The broker has a clock of its own.
    create(web.broker.client(), "orders", 2, message_timestamp_type="LogAppendTime")
    send(web.broker.client(), "orders", encode_batch([ORDER]), 1)
    return web


def stored(web: Web, partition: int = 1) -> list[Record]:
    data = fetch(web.broker.client(), "orders", partition=partition).records
    return [record for batch in iter_batches(data) for record in iter_records(batch)]


def form_of(page: Answered) -> list[tuple[str, str]]:
    """Return the first form of a page as a browser would send it."""
    form = re.search(r'(?s)<form method="post".*?</form>', page.html.partition('id="main"')[2])
    assert form is not None
    fields: list[tuple[str, str]] = []
    pattern = (
        r'(?s)<input[^>]*?name="(\w+)"[^>]*?value="([^"]*)"|<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>'
    )
    pattern += r'|<select name="(\w+)".*?<option selected>(\w+)'
    for found in re.finditer(pattern, form[0]):
        name, value = [part for part in found.groups() if part is not None]
        fields.append((name, unescape(value)))
    return fields


def preview_and_send(web: Web, fields: list[tuple[str, str]]) -> Answered:
    preview = web.send("/topics/orders/produce/preview", fields)
    assert preview.status == 200, preview.text
    assert not [request for request in web.sent if isinstance(request, ProduceRequest)]
    return web.send("/topics/orders/produce", form_of(preview))


def test_one_like_another_is_the_same_byte_for_byte() -> None:
    web = orders()
    done = preview_and_send(web, form_of(web.get("/topics/orders/produce?like=1:0")))
    assert done.status == 303
    assert "stored 1 record in 'orders' (partition 1: 1)" in web.get(done.headers["location"]).text
    again = stored(web)[1]
    assert (again.key, again.value, again.headers) == (ORDER.key, ORDER.value, ORDER.headers)


def test_a_tombstone_has_a_null_value() -> None:
    web = orders()
    fields = {"kind": "one", "key": "a", "key_form": "text", "value": "", "value_form": "null"}
    fields["partition"] = "0"
    assert preview_and_send(web, list(fields.items())).status == 303
    assert [(record.key, record.value) for record in stored(web, 0)] == [(b"a", None)]


def test_several_are_sent_as_lines() -> None:
    web = orders()
    lines = '{"value":"a","partition":0}\r\n{"value":{"n":1},"partition":0,"headers":{"h":"1"}}'
    done = preview_and_send(web, [("kind", "lines"), ("lines", lines)])
    assert "stored 2 records" in web.get(done.headers["location"]).text
    assert [record.value for record in stored(web, 0)] == [b"a", b'{"n":1}']


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("nonsense", "line 1 is not JSON"),
        ('{"value":1}\n{"valu":2}', "line 2: unknown member 'valu'"),
        ('{"value":1,"partition":7}', "record 1: there is no partition 7; there are 2"),
        ("", "there is no record"),
    ],
)
def test_mistakes_are_told_and_nothing_is_sent(lines: str, words: str) -> None:
    web = orders()
    page = web.send("/topics/orders/produce/preview", [("kind", "lines"), ("lines", lines)])
    assert words in page.problem
    assert 'class="change"' not in page.html
    assert web.send("/topics/orders/produce", [("lines", lines)]).status == 400
    assert not [request for request in web.sent if isinstance(request, ProduceRequest)]


def test_the_command_is_shown() -> None:
    page = orders().send("/topics/orders/produce/preview", [("kind", "lines"), ("lines", '{"value":"a"}')])
    assert 'kawal produce orders --json --bootstrap broker.test:9092 <<\'END\' {"value":"a"} END' in page.text


def test_a_topic_that_is_not_there_is_not_created() -> None:
    web = orders()
    for path in ("/topics/absent/produce/preview", "/topics/absent/produce"):
        assert web.send(path, [("kind", "lines"), ("lines", '{"value":1}')]).status >= 400
    assert web.get("/topics/absent/produce").status >= 400
    assert web.get("/topics/absent").status == 404


def test_masked_records_are_not_copied() -> None:
    web = orders(masks=Masks([parse_mask("orders:n")]))
    page = web.get("/topics/orders/produce?like=1:0")
    assert page.status == 403
    assert b"9007199254740993" not in page.body


def test_a_view_takes_no_records() -> None:
    web = orders()
    create(web.broker.client(), "v", -1, kawal_alias_of="orders")
    assert "v is a view: records are sent to orders" in web.get("/topics/v/produce").text


@pytest.mark.parametrize("like", ["1", "a:b", "1:", "-1:0", "9:0", "1:99"])
def test_what_is_not_there_cannot_be_copied(like: str) -> None:
    assert orders().get(f"/topics/orders/produce?like={like}").status in (400, 404)
