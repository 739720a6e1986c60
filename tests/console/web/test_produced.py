"""Records of forms: what comes back of a record, and what is wrong with a line."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

from console.record_formats import load_json
from console.web.errors import PageError
from console.web.fields import Fields
from console.web.produced import (
    LINES_MAX,
    Draft,
    Part,
    check_partitions,
    draft_of,
    line_of,
    part_of,
    read_lines,
)
from protocol.record_reader import Record


def sent_back(draft: Draft) -> Fields:
    """Return the form as a browser would send it unchanged: each end of a line as CR LF."""
    pairs = [
        ("key", draft.key.text),
        ("key_form", draft.key.form),
        ("value", draft.value.text),
        ("value_form", draft.value.form),
        ("partition", draft.partition),
    ]
    for name, part in draft.headers:
        pairs += [("header", name), ("header_value", part.text), ("header_form", part.form)]
    return Fields(urlencode([(name, text.replace("\n", "\r\n")) for name, text in pairs]))


@pytest.mark.parametrize(
    "record",
    [
        Record(0, 1, None, None),
        Record(0, 1, b"", b""),
        Record(0, 1, b"k", b'{"n":9223372036854775807,"x":1.10}'),
        Record(0, 1, b"\xff\x00", b"\x00\x01"),
        Record(0, 1, b"two\nlines", b"two\nlines\r\nand\rmore\n"),
        Record(0, 1, b"k", b"\nfirst line empty"),
        Record(0, 1, b"<b>", "\u202e\u200b\u00e9".encode(), (("h", None), ("h", b"1"), ("b", b"\xff"))),
    ],
)
def test_a_record_that_is_not_changed_comes_back_byte_for_byte(record: Record) -> None:
    found = load_json(line_of(sent_back(draft_of(record, 3))).encode(), "")
    assert (found.key, found.value, tuple(found.headers)) == (record.key, record.value, record.headers)
    assert found.partition == 3


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("value_form=zip", "is one of text, base64, null"),
        ("value_form=null&value=x", "is null and has a text"),
        ("header=&header_value=x&header_form=text", "has no name"),
        ("header=a", "each header needs"),
        ("partition=-5", "between -1 and"),
        ("partition=many", "whole number"),
    ],
)
def test_what_is_no_record_is_a_sentence(more: str, words: str) -> None:
    with pytest.raises(PageError, match=words):
        line_of(Fields(f"key=&key_form=null&value=&value_form=text&{more}"))


def test_mistakes_are_told_by_their_lines() -> None:
    text = '{"value":1}\n\nnonsense\n{"key":1}\n{"value_base64":"?"}\n{"value":"\\ud800"}\n{"value":null}'
    records, wrong = read_lines(text)
    assert [record.value for record in records] == [b"1", None]
    assert [each.line for each in wrong] == [3, 4, 5, 6]
    assert "line 4 has neither 'value' nor 'value_base64'" in wrong[1].sentence


def test_lines_are_bounded() -> None:
    records, wrong = read_lines('{"value":1}\n' * (LINES_MAX + 5))
    assert (len(records), len(wrong)) == (LINES_MAX, 1)


def test_partitions_that_do_not_exist_are_told() -> None:
    lines = (f'{{"value":1,"partition":{partition}}}' for partition in (1, 2, -1))
    records, _ = read_lines("\n".join(lines))
    assert [each.line for each in check_partitions(records, 2)] == [2, 3]


def test_bytes_that_are_no_text_are_in_base64() -> None:
    assert part_of(b"\xff") == Part("/w==", "base64")
    assert part_of(b"a\nb") == Part("YQpi", "base64")
    assert part_of(b"a\nb", lines=True) == Part("a\nb", "text")


def test_the_line_is_that_of_the_command() -> None:
    line = line_of(sent_back(draft_of(Record(0, 1, b"k", b"v", (("h", b"1"),)))))
    assert json.loads(line) == {"key": "k", "value": "v", "headers": [{"name": "h", "value": "1"}]}
