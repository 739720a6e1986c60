"""Bounds: no extent that could match is skipped, and many that cannot are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from protocol.records import patch_create_time
from tests.views.rows import UNHURRIED, make_plan, make_view, values
from views.bounds import extent_may_match
from views.filtering import filter_batch
from views.unfit import unfit_batch


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ("_rowts > 2000", False),
        ("_rowts >= 2000", True),
        ("_rowts < 1000", False),
        ("_rowts <= 1000", True),
        ("2000 < _rowts", False),
        ("_rowts = 999", False),
        ("_offset > 18.5", True),
        ("_offset > 19.5", False),
        ("_rowts BETWEEN 0 AND 999", False),
        ("_rowts IN (1, 5000, NULL)", True),
        ("_rowts IN (1, 999)", False),
        ("_rowts > '1970-01-01T00:00:02Z'", False),
        ("_rowts > '1970-01-01T00:00:02Z' OR voltage > 1", True),
        ("NOT _rowts > 2000", True),
        ("_rowts > 2000 AND voltage > 1", False),
        ("_offset >= 20", False),
        ("_offset < 10", False),
        ("_offset IN (3, 15)", True),
        ("_key = 'x'", False),
        ("tbname = 'a' AND voltage > 1", True),
        ("tbname IN ('x', 'y')", False),
        ("tbname IN ('x', 'b')", True),
        ("_key = 'a' AND tbname = 'b'", False),
        ("_key <> 'a'", True),
        ("_key IS NULL", True),
        ("FALSE", False),
        ("NULL", False),
        ("2 > 1", True),
        ("ts > 5000", True),
        ("_rowts = NULL", False),
        ("voltage > 1", True),
        ("_partition = 3", True),
    ],
)
def test_an_extent_is_passed_over_only_where_nothing_can_match(where: str, matches: bool) -> None:
    plan = make_plan(f"SELECT * FROM m WHERE {where}")
    found = extent_may_match(plan, 1_000, 2_000, min_offset=10, max_offset=19, keys=[b"a", b"b"])
    assert found is matches


def test_without_keys_no_key_decides() -> None:
    assert extent_may_match(make_plan("SELECT * FROM m WHERE _key = 'x'"), 0, 0)
    assert extent_may_match(make_plan("SELECT * FROM m"), 0, 0)


CONDITIONS = st.sampled_from(
    [
        "_rowts {} {}",
        "_offset {} {}.5",
        "NOT _rowts {} {}",
        "(_rowts {0} {1} OR _key = 'k1')",
        "_rowts + 1 {} {}",
        "_key IN ('k1', 'k3')",
        "(_offset IN (1, 4) AND _rowts {0} {1})",
        "{1} {0} _rowts",
        "_offset BETWEEN 1 AND {1}",
    ]
)


@UNHURRIED
@given(
    st.lists(
        st.tuples(
            CONDITIONS,
            st.sampled_from(["<", "<=", ">", ">=", "=", "<>"]),
            st.sampled_from([-1, 2, 3, 9]),
        ),
        min_size=1,
        max_size=3,
    )
)
def test_no_record_of_the_view_lies_in_an_extent_that_was_passed_over(
    parts: list[tuple[str, str, int]],
) -> None:
    sql = "SELECT * FROM m WHERE " + " AND ".join(text.format(sign, number) for text, sign, number in parts)
    plan, view = make_plan(sql, None), make_view(sql, None)
    for offset in range(5):
        for time in range(5):
            key = f"k{(offset + time) % 3}".encode()
            batch = memoryview(encode_batch([Record(offset, time, key, b"")]))
            matched = filter_batch(view, batch).matched
            may = extent_may_match(plan, time, time, min_offset=offset, max_offset=offset, keys=[key])
            assert may or not matched


def lying(value: bytes, *timestamps: int, newest: int) -> memoryview:
    """Return a batch whose header names another largest timestamp than its records have."""
    batch = encode_batch([Record(at, time, b"k", value) for at, time in enumerate(timestamps)])
    patch_create_time(batch, newest)
    return memoryview(batch)


@pytest.mark.parametrize("newest", [1_000, 1_500, 2_000, 5_000])
@pytest.mark.parametrize("bound", [999, 1_000, 1_001, 1_500, 1_501, 2_000, 2_001])
def test_a_record_is_as_old_as_its_batch_says_whether_the_batch_is_passed_over_or_read(
    newest: int, bound: int
) -> None:
    expected = sum(min(time, newest) >= bound for time in (1_000, 2_000))
    view = make_view(f"SELECT a, _rowts FROM t WHERE _rowts >= {bound}", "a int")
    found = filter_batch(view, lying(b'{"a":1}', 1_000, 2_000, newest=newest))
    assert found.matched == expected
    assert all(value["_rowts"] <= newest for value in values(found))
    quarantine = make_view(f"UNFIT t WHERE _rowts >= {bound}", "a int")
    assert unfit_batch(quarantine, lying(b"no", 1_000, 2_000, newest=newest)).matched == expected
    if not extent_may_match(view.plan, -(2**63), newest, min_offset=0, max_offset=1):
        assert expected == 0
