"""Members of values as cells: as they are written, for people and for programs."""

from __future__ import annotations

import pytest

from console.web.cells import cell_text, cells_of, exact
from protocol.record_reader import Record


def cells(value: bytes | None, *names: str, headers: tuple[tuple[str, bytes | None], ...] = ()) -> object:
    return cells_of(Record(0, 0, None, value, headers), names)


def test_numbers_are_the_digits_of_the_record() -> None:
    found = cells_of(Record(0, 0, None, b'{"a":9223372036854775807,"b":1.10,"c":1e400}'), ("a", "b", "c"))
    assert found == (b"9223372036854775807", b"1.10", b"1e400")
    assert [exact(cell) for cell in found] == [9223372036854775807, "1.10", "1e400"]
    assert [cell_text(cell) for cell in found] == ["9223372036854775807", "1.10", "1e400"]


@pytest.mark.parametrize("value", [None, b"", b"[1]", b"\xff", b'{"a":', b"[" * 100_000, b'{"b":1}'])
def test_what_has_no_such_member_has_an_empty_cell(value: bytes | None) -> None:
    assert cells(value, "a") == (None,)
    assert cell_text(None) == ""


def test_a_value_above_1_mib_is_not_taken_apart() -> None:
    assert cells(b'{"a":1,"b":"' + b"x" * (1 << 20) + b'"}', "a") == (None,)


def test_strings_lose_their_quotes_and_long_ones_their_end() -> None:
    assert cell_text(b'"a\\u00e9"') == "aé"
    assert cell_text(b'"' + b"x" * 500 + b'"') == "x" * 199 + "…"


def test_booleans_and_null_are_themselves() -> None:
    assert [exact(cell) for cell in (b"true", b"false", b"null", b'{"a":1}')] == [
        True,
        False,
        None,
        '{"a":1}',
    ]


def test_a_tag_in_a_header_fills_the_cell_that_the_value_leaves_empty() -> None:
    headers = (("kawal.tag.site", b"LIS"), ("kawal.tag.bad", b"\xff"))
    assert cells(b'{"a":1}', "site", "bad", "a", headers=headers) == (b'"LIS"', b'"\\\\xff"', b"1")
