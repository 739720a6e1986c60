"""Choices, headers and functions of time."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.record_reader import Record
from tests.views.rows import encoded, evaluate, make_view, run, values

COLUMNS = "i bigint, d double, s string, t timestamp, u timestamp(ns), f bool"
# 2026-03-29 00:59:59.999 UTC, one millisecond before clocks change in Berlin; and noon of that day.
BEFORE, NOON = 1_774_745_999_999, 1_774_785_600_000
# 2026-10-25: 00:30 UTC and 01:30 UTC are both 02:30 in Berlin.
FIRST, SECOND = 1_792_888_200_000, 1_792_891_800_000


@pytest.mark.parametrize(
    ("expression", "row", "value"),
    [
        ("COALESCE(i, d, 7)", {}, 7.0),
        ("COALESCE(i, NULL)", {"i": 1}, 1),
        ("IFNULL(s, 'x')", {}, "x"),
        ("NVL(s, 'x')", {"s": ""}, ""),
        ("NVL2(s, 1, 2)", {"s": ""}, 1),
        ("NVL2(s, 1, 2)", {}, 2),
        ("IF(f, 1, 2)", {}, 2),
        ("IF(i > 0, 'a', 'b')", {"i": 1}, "a"),
        ("NULLIF(i, 1)", {"i": 1}, None),
        ("NULLIF(i, 1)", {"i": 2}, 2),
        ("NULLIF(i, NULL)", {"i": 2}, 2),
        ("ISNULL(i)", {}, True),
        ("GREATEST(i, 5, d)", {"i": 3, "d": 5.5}, 5.5),
        ("LEAST(s, 'b')", {"s": "a"}, "a"),
        ("GREATEST(i, 5)", {}, None),
        ("PI()", {}, 3.141592653589793),
        ("TO_ISO8601(t)", {"t": 5}, "1970-01-01T00:00:00.005Z"),
        ("TO_ISO8601(u, '+08:00')", {"u": 5}, "1970-01-01T08:00:00.000000005+08:00"),
        ("TO_ISO8601(t, 'Europe/Berlin')", {"t": BEFORE}, "2026-03-29T01:59:59.999+01:00"),
        ("TO_ISO8601(t, 'Europe/Berlin')", {"t": SECOND}, "2026-10-25T02:30:00.000+01:00"),
        ("TO_ISO8601(t)", {"t": 2**60}, None),
        ("TO_UNIXTIMESTAMP(s)", {"s": "1970-01-01 00:00:01"}, 1_000),
        ("TO_UNIXTIMESTAMP(s)", {"s": "x"}, None),
        ("TIMETRUNCATE(t, 1h)", {"t": -1}, -3_600_000),
        ("TIMETRUNCATE(t, 1w)", {"t": 0}, -259_200_000),
        ("TIMETRUNCATE(t, 1u)", {"t": 7}, 7),
        ("TIMETRUNCATE(u, 1a)", {"u": 1_999_999}, 1_000_000),
        ("TO_ISO8601(TIMETRUNCATE(t, 1d, 'Europe/Berlin'))", {"t": NOON}, "2026-03-28T23:00:00.000Z"),
        ("TO_ISO8601(TIMETRUNCATE(t, 1h, 'Europe/Berlin'))", {"t": FIRST}, "2026-10-25T00:00:00.000Z"),
        ("TO_ISO8601(TIMETRUNCATE(t, 1h, 'Europe/Berlin'))", {"t": SECOND}, "2026-10-25T01:00:00.000Z"),
        ("TO_ISO8601(TIMETRUNCATE(t, 1d, '+05:30'))", {"t": 0}, "1969-12-31T18:30:00.000Z"),
        ("TIMETRUNCATE(u, 1w)", {"u": -(2**63)}, None),
        ("TIMEDIFF(t, u)", {"t": 1, "u": 1}, 999_999),
        ("TIMEDIFF(t, u, 1s)", {"t": -1_999, "u": 0}, -1),
        ("TIMEDIFF(t, u)", {"t": 2**62, "u": 0}, None),
        ("YEAR(t)", {"t": -1}, 1969),
        ("QUARTER(t)", {"t": NOON}, 1),
        ("MONTH(t)", {"t": NOON}, 3),
        ("DAY(t)", {"t": NOON}, 29),
        ("HOUR(t, 'Europe/Berlin')", {"t": NOON}, 14),
        ("MINUTE(u)", {"u": 61 * 10**9}, 1),
        ("SECOND(u)", {"u": 61 * 10**9}, 1),
        ("DAYOFWEEK(t)", {"t": NOON}, 1),
        ("WEEKDAY(t)", {"t": NOON}, 6),
        ("WEEKOFYEAR(t)", {"t": NOON}, 13),
        ("DAYOFYEAR(t)", {"t": NOON}, 88),
        ("DATE(t, '-12:00')", {"t": 0}, "1969-12-31"),
        ("YEAR(t)", {"t": 2**62}, None),
        ("YEAR(t)", {}, None),
        ("YEAR(NULL)", {}, None),
        ("t + 1w > '1970-01-08'", {"t": 0}, False),
    ],
)
def test_they_have_a_value_or_are_null(expression: str, row: dict[str, Any], value: Any) -> None:
    found = evaluate(expression, row, COLUMNS)
    assert found == value
    assert type(found) is type(value)


def test_a_header_is_its_last_value_as_text() -> None:
    given = [
        Record(0, 0, None, encoded({}), (("a", b"1"), ("b", b"x"), ("a", b"2"))),
        Record(1, 0, None, encoded({}), (("a", None),)),
        Record(2, 0, None, encoded({}), (("a", b"\xff"),)),
        Record(3, 0, None, encoded({})),
    ]
    found = values(
        run(make_view("SELECT header('a') AS a, CAST(HEADER('a') AS int) AS n FROM t", None), given)
    )
    assert [row["a"] for row in found] == ["2", None, None, None]
    assert [row["n"] for row in found] == [2, None, None, None]
