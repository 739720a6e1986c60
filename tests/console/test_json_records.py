"""JSON lines read quickly are the records that reading them by hand gives."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from console.errors import CommandError
from console.json_records import load_lines
from console.record_formats import OutgoingColumns, OutgoingRecord, load_json

text = st.none() | st.text(max_size=5) | st.sampled_from(["\ud800", '"', "\\", "\x00"])
odd = text | st.integers() | st.booleans() | st.floats() | st.lists(st.integers(), max_size=2)
header = st.fixed_dictionaries({"name": odd}, optional={"value": odd, "value_base64": odd, "other": odd})
lines = st.fixed_dictionaries(
    {},
    optional={
        "value": odd,
        "key": odd,
        "key_base64": st.sampled_from(["AA==", "?"]),
        "partition": odd,
        "timestamp": odd,
        "offset": odd,
        "topic": odd,
        "headers": st.lists(header, max_size=2) | st.dictionaries(st.text(max_size=2), odd, max_size=2) | odd,
        "unknown": odd,
    },
)


def loaded(pieces: list[bytes], first: int) -> list[OutgoingRecord]:
    found = load_lines(pieces, first)
    return found.one_by_one() if isinstance(found, OutgoingColumns) else found


def outcome(load: object, *arguments: object) -> list[OutgoingRecord] | str:
    try:
        return load(*arguments)  # type: ignore[operator, no-any-return]
    except CommandError as error:
        return str(error)


@given(st.one_of(lines.map(json.dumps).map(str.encode), st.binary(max_size=20)), st.booleans())
@example(b'{"value": "a", "partition": 5.0}', False)
@example(b'{"value": "a", "value": "b"}', False)
@example(b'{"value": "\xff"}', False)
@example(b'{"value": "\\ud800"}', False)
@example(b'\xef\xbb\xbf{"value": "a"}', False)
@example(b'{"value": "a", "timestamp": 9223372036854775807}', False)
@example(b'{"value": "a", "timestamp": -9223372036854775808}', False)
@example(b'{"value": "a", "partition": 99999999999999999999999}', False)
@example(b'{"value": NaN}', False)
@example(b'{"value": "a", "headers": [{"name": "h"}]}', False)
@example(b'{"value": "a", "headers": [{"name": "h", "value": "1", "more": 2}]}', False)
@example(b"[" * 5_000, False)
def test_a_line_is_read_as_by_hand(line: bytes, spaced: bool) -> None:
    given_line = b" " + line + b" " if spaced else line
    by_hand = outcome(lambda: [load_json(given_line, "record 7 of the input")])
    if not given_line.strip():
        by_hand = []
    assert outcome(loaded, [given_line], 7) == by_hand


def test_lines_together_are_read_as_each_alone() -> None:
    plain = b'{"value":"v","key":"k","partition":1,"timestamp":5,"offset":3,"topic":"t"}'
    others = [
        b'{"value":null,"headers":[{"name":"h","value":"1"},{"name":"n","value":null}]}',
        b'{"value":[5]}',
    ]
    for pieces in ([plain], [plain, others[0]], [plain, *others]):
        assert loaded(pieces, 1) == [load_json(piece, "") for piece in pieces]
    assert isinstance(load_lines([plain] * 2, 1), OutgoingColumns)


def test_blank_lines_count_but_are_no_records() -> None:
    assert loaded([b"", b" \t", b'{"value":"v"}'], 1) == [OutgoingRecord(b"v")]
    with pytest.raises(CommandError, match="record 9 of the input is not JSON"):
        load_lines([b"", b" \t", b"{"], 7)
