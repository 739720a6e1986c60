"""Records as text and as JSON lines, in both directions."""

import io
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from console.errors import CommandError, UsageError
from console.record_formats import (
    CHUNK_BYTES,
    RECORD_BYTES_MAX,
    OutgoingColumns,
    OutgoingRecord,
    TextFormat,
    header_option,
    load_json,
    split_records,
    text_option,
)
from protocol.record_reader import Record


def consumed(value: bytes | None, key: bytes | None = None) -> list[Record]:
    return [Record(7, 1_700_000_000_000, key, value)]


class Pieces(io.RawIOBase):
    """A stream that delivers its pieces one by one, as a pipe does."""

    def __init__(self, *pieces: bytes) -> None:
        self._pieces = list(pieces)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        piece = self._pieces.pop(0) if self._pieces else b""
        buffer[: len(piece)] = piece
        return len(piece)


def slow(*pieces: bytes) -> io.BufferedReader:
    return io.BufferedReader(Pieces(*pieces))


def test_text_is_the_value_and_a_line_end() -> None:
    assert TextFormat().dump(None, consumed(b"a\xffb", b"k")) == b"a\xffb\n"


def test_text_with_a_separator_begins_with_the_key() -> None:
    assert TextFormat(key_separator=b"\t").dump(None, consumed(b"v", b"k")) == b"k\tv\n"


def test_nulls_are_empty_or_the_word_for_them() -> None:
    assert TextFormat(key_separator=b":").dump(None, consumed(None)) == b":\n"
    assert TextFormat(key_separator=b":", null=b"NULL").dump(None, consumed(None)) == b"NULL:NULL\n"


def test_a_line_is_split_at_the_first_separator() -> None:
    assert TextFormat(key_separator=b"=").load([b"k=v=w"], 1) == OutgoingColumns([b"v=w"], [b"k"])
    assert TextFormat(null=b"NULL").load([b"NULL", b"a"], 1) == OutgoingColumns([None, b"a"])
    assert TextFormat(b"\n", b"=", b"-").load([b"-=a", b"a=-"], 1) == OutgoingColumns(
        [b"a", None], [None, b"a"]
    )
    assert TextFormat().load([b""], 1) == OutgoingColumns([b""])


def test_a_line_without_its_separator_is_told() -> None:
    with pytest.raises(CommandError, match="record 4 of the input has no key: '=' does not occur"):
        TextFormat(key_separator=b"=").load([b"k=v", b"v"], 3)


def test_columns_are_records_with_what_they_have() -> None:
    columns = OutgoingColumns([b"a", None], [None, b"k"], [1, None], None, (("h", b"1"),))
    assert columns.one_by_one() == [
        OutgoingRecord(b"a", None, [("h", b"1")], 1, None),
        OutgoingRecord(None, b"k", [("h", b"1")], None, None),
    ]
    assert columns.part(1, 9).one_by_one() == columns.one_by_one()[1:]
    assert OutgoingColumns([b"a"]).part(0, 1).one_by_one() == [OutgoingRecord(b"a")]


@given(st.lists(st.binary(max_size=8), max_size=8), st.sampled_from([b"\n", b"\0", b"--", b"aba"]), st.data())
def test_pieces_arrive_whole_however_the_input_is_cut(
    pieces: list[bytes], delimiter: bytes, data: st.DataObject
) -> None:
    whole = delimiter.join(pieces)
    chunks = []
    rest = whole
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        chunks.append(rest[:size])
        rest = rest[size:]
    expected = whole.split(delimiter)
    if not expected[-1]:
        expected.pop()
    assert [piece for found in split_records(slow(*chunks), delimiter) for piece in found] == expected


def test_a_piece_is_delivered_before_the_input_ends() -> None:
    pieces = split_records(slow(b"one\ntw", b"o\n", b""), b"\n")
    assert next(pieces) == [b"one"]
    assert next(pieces) == [b"two"]


def test_a_piece_without_end_is_refused() -> None:
    endless = slow(*[b"x" * CHUNK_BYTES] * (RECORD_BYTES_MAX // CHUNK_BYTES + 1))
    with pytest.raises(CommandError, match="longer than"):
        list(split_records(endless, b"\n"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"value": "text"}', b"text"),
        ('{"value": {"a": [1, "ü"]}}', '{"a":[1,"ü"]}'.encode()),
        ('{"value": 5}', b"5"),
        ('{"value": true}', b"true"),
        ('{"value": null}', None),
        ('{"value_base64": "AAE="}', b"\0\1"),
    ],
)
def test_a_value_may_be_any_json(text: str, value: bytes | None) -> None:
    assert load_json(text.encode(), "record 1").value == value


def test_headers_may_be_an_object() -> None:
    record = load_json(b'{"value": "v", "headers": {"a": "1", "b": null}}', "record 1")
    assert record.headers == [("a", b"1"), ("b", None)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "record 4 is not JSON"),
        ("[" * 100_000, "record 4 is not JSON"),
        ("5", "not a JSON object"),
        ("{}", "neither 'value' nor 'value_base64'"),
        ('{"value": "a", "valeu": 1}', "unknown member 'valeu'"),
        ('{"value": "a", "value_base64": ""}', "both 'value' and 'value_base64'"),
        ('{"value_base64": "?"}', "not base64"),
        ('{"value_base64": 5}', "not base64"),
        ('{"value": "\\ud800"}', "half a surrogate pair"),
        ('{"value": "a", "partition": "0"}', "'partition' must be a whole number"),
        ('{"value": "a", "timestamp": 9223372036854775808}', "'timestamp' is 9223372036854775808, which has"),
        ('{"value": "a", "timestamp": true}', "'timestamp' must be a whole number"),
        ('{"value": "a", "headers": 5}', "'headers' is neither a list nor an object"),
        ('{"value": "a", "headers": [5]}', "a header is written"),
        ('{"value": "a", "headers": [{"name": 1}]}', "a header is written"),
    ],
)
def test_what_is_no_record_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        load_json(text.encode(), "record 4")


@pytest.mark.parametrize(
    ("text", "data"), [("\\t", b"\t"), ("\\0", b"\0"), ("\\xff", b"\xff"), (", ", b", "), ("→", "→".encode())]
)
def test_escapes_in_an_option_are_understood(text: str, data: bytes) -> None:
    assert text_option(text, "--delimiter") == data


@pytest.mark.parametrize("text", ["", "\\x", "\\u20ac"])
def test_an_option_that_is_no_bytes_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="--delimiter"):
        text_option(text, "--delimiter")


def test_a_header_is_name_and_value() -> None:
    assert header_option("a=b=c") == ("a", b"b=c")
    for wrong in ("a", "=b"):
        with pytest.raises(UsageError, match="NAME=VALUE"):
            header_option(wrong)
