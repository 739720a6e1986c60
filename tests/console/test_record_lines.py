"""Consumed records as JSON lines and by a format string."""

from __future__ import annotations

import json
from itertools import zip_longest

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from kafka.structs import TopicPartition

from console.errors import UsageError
from console.record_formats import Header, OutgoingRecord, load_json
from console.record_lines import FormatString, dump_json, encoded_lines
from protocol.record_reader import Record

PLACE = TopicPartition("t", 3)
NOW_MS = 1_700_000_000_000

maybe_bytes = st.none() | st.binary(max_size=20)


def test_json_holds_everything() -> None:
    record = Record(7, NOW_MS, None, "grüße".encode(), (("a", b"1"), ("a", None), ("b", b"\xff")))
    assert json.loads(dump_json(PLACE, [record])) == {
        "topic": "t",
        "partition": 3,
        "offset": 7,
        "timestamp": NOW_MS,
        "key": None,
        "value": "grüße",
        "headers": [
            {"name": "a", "value": "1"},
            {"name": "a", "value": None},
            {"name": "b", "value_base64": "/w=="},
        ],
    }


text = st.text(alphabet='ab"\\%{}\n\t\x00\x1f\x7f\x85ßü\u2028😀', max_size=4).map(str.encode)
part = st.none() | text | st.sampled_from([b"\xff", b"\xc3", b"plain", b"", b"%b%d"])
column = st.lists(st.sampled_from([b"plain", b'"', b"\\", "ü".encode()]), max_size=3) | st.lists(
    part, max_size=3
)


@given(column, column, st.lists(st.lists(st.tuples(st.text(max_size=2), part), max_size=2)))
@example([b"a", b"b"], [b"\xc3", b"\xa4"], [])  # halves of one letter
@example([b"a", None], [None, b"a"], [])
@example([b'"a"', b"%d"], [None, None], [])
def test_lines_made_at_once_are_those_made_one_by_one(
    keys: list[bytes | None], values: list[bytes | None], headers: list[list[Header]]
) -> None:
    records = [
        Record(7 + 2 * at, NOW_MS - at, key, value, tuple(headers[at]) if at < len(headers) else ())
        for at, (key, value) in enumerate(zip_longest(keys, values))
    ]
    assert dump_json(PLACE, records) == encoded_lines(PLACE, records)


def test_a_topic_of_a_broker_with_other_names_is_written_as_json() -> None:
    place = TopicPartition('50% "off"', 0)
    records = [Record(0, NOW_MS, b"%", b"%s")]
    assert dump_json(place, records) == encoded_lines(place, records)


def test_one_record_that_is_not_text_changes_no_other() -> None:
    records = [Record(0, NOW_MS, b"k", b"a"), Record(1, NOW_MS, b"k", b"\xff")]
    first, second = map(json.loads, dump_json(PLACE, records).splitlines())
    assert (first["value"], second["value_base64"]) == ("a", "/w==")
    assert first == json.loads(dump_json(PLACE, records[:1]))


@given(maybe_bytes, maybe_bytes, st.lists(st.tuples(st.text(max_size=5), maybe_bytes), max_size=3))
def test_json_loses_nothing(key: bytes | None, value: bytes | None, headers: list[Header]) -> None:
    line = dump_json(PLACE, [Record(7, NOW_MS, key, value, tuple(headers))])
    assert line.count(b"\n") == 1
    assert load_json(line, "record 1") == OutgoingRecord(value, key, headers, 3, NOW_MS)


def test_a_header_name_that_is_not_text_is_shown_as_far_as_it_is() -> None:
    name = b"a\xff".decode("utf-8", "surrogateescape")
    line = dump_json(PLACE, [Record(7, NOW_MS, None, None, ((name, b"1"),))])
    assert json.loads(line)["headers"] == [{"name": "a\ufffd", "value": "1"}]


def test_a_format_has_every_part_of_a_record() -> None:
    record = Record(7, NOW_MS, b"k\xff", b"val", (("a", b"1"), ("b", None)))
    text = FormatString(r"%t %p %o %k %s %K %S %T [%h] %%\n\x00").dump(PLACE, [record])
    assert text == b"t 3 7 k\xff val 2 3 1700000000000 [a=1,b=] %\n\0"


def test_a_null_is_the_word_for_it_and_has_the_length_minus_one() -> None:
    record = Record(0, NOW_MS, None, None)
    assert FormatString("%k,%s,%K,%S;", b"NULL").dump(PLACE, [record] * 2) == b"NULL,NULL,-1,-1;" * 2


@pytest.mark.parametrize("text", ["%x", "%", "%s %"])
def test_what_a_format_has_none_of_is_told(text: str) -> None:
    with pytest.raises(UsageError, match=r"--format: there is no '%x?'; there are %t %p"):
        FormatString(text)
