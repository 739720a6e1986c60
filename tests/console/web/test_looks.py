"""Records as rows of a page: cut, masked, with cells."""

from __future__ import annotations

from console.web.looks import CUT_BYTES, Look
from console.web.masks import TopicMask
from protocol.record_reader import Record


def test_a_row_has_the_beginning_of_what_is_long_and_its_size() -> None:
    row = Look().row(3, Record(7, 1, b"k" * 5000, b"v" * 6000))
    assert (row.partition, row.offset, row.key, row.key_size) == (3, 7, b"k" * CUT_BYTES, 5000)
    assert (len(row.value or b""), row.value_size) == (CUT_BYTES, 6000)


def test_null_has_no_size() -> None:
    row = Look().row(0, Record(7, 1, None, None))
    assert (row.key, row.key_size, row.value, row.value_size) == (None, -1, None, -1)


def test_cells_are_masked_with_their_columns() -> None:
    look = Look(TopicMask(columns=frozenset({"a"})), ("a", "b"))
    row = look.row(0, Record(7, 1, None, b'{"a":"secret","b":2}'))
    assert row.cells == (b'"(masked)"', b"2")
    assert b"secret" not in (row.value or b"")
