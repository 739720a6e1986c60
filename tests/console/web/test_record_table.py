"""The parts that pages of records share."""

from __future__ import annotations

from console.web.kept_bars import TimeBar
from console.web.looks import Look
from console.web.record_table import alias_link, rows_of
from protocol.record_reader import Record


def test_rows_for_programs_have_members_after_the_record() -> None:
    row = Look(columns=("n", "key")).row(
        0, Record(7, 1, b"k", b'{"n":9223372036854775807,"key":"x"}', (("h", None),))
    )
    rows = rows_of([row], ("n", "key"))
    assert rows.columns[-3:] == ("headers", "value.n", "value.key")
    assert rows.rows[0][-3:] == ([["h", None]], 9223372036854775807, "x")


def test_an_alias_has_the_time_of_the_whole_histogram() -> None:
    bars = [TimeBar(5, 10, 1), TimeBar(10, 15, 0)]
    assert alias_link("/topics/t/alias", bars) == "/topics/t/alias?from=%405&until=%4015"
    assert alias_link("/topics/t/alias", []) == ""
