"""Random expressions over random rows: a view and DuckDB give the same.

KAWAL_VIEW_EXAMPLES sets how many expressions are tried, by default 300.
"""

from __future__ import annotations

import json
import math
import os
import random
from datetime import UTC, datetime
from functools import cache
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.views.duckdb_expressions import BOOL, DECLARED, DOUBLE, INT, STRING, TEXTS, TIME, Pair, expressions
from tests.views.rows import make_view, values
from views.filtering import filter_batch

EXAMPLES = int(os.environ.get("KAWAL_VIEW_EXAMPLES", "300"))
ROWS = 48
INTEGERS = [0, 1, -1, 2, 255, 2**31 - 1, -(2**31), 2**53, 2**53 + 1, 2**63 - 1, -(2**63), 10**18]
DOUBLES = [0.0, -0.0, 0.1, 2.5, -2.5, 1e308, -1e308, 5e-324, 1e16, 123456.789, 2.0**53]
# Around both changes of the clocks in Berlin, before 1970, and leap days.
TIMES = [0, -1, 1774746000000, 1774749600000, 1792890000000, 1792893599999, 951782400000, -2208988800001]
NAMES = [column.split()[0] for column in DECLARED.split(",")]
TYPES = (
    "INTEGER, BOOLEAN, BOOLEAN, BIGINT, INTEGER, TINYINT, DOUBLE, DOUBLE, VARCHAR, VARCHAR, BIGINT, BIGINT"
)


@cache
def rows(seed: int) -> list[dict[str, Any]]:
    chance = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if chance.random() < 0.15 else value

    return [
        {
            "n": number,
            "b1": maybe(chance.random() < 0.5),
            "b2": maybe(chance.random() < 0.5),
            "i1": maybe(chance.choice([*INTEGERS, chance.randrange(-(2**63), 2**63)])),
            "i2": maybe(chance.choice([0, 1, 3, -7, 2**31 - 1, chance.randrange(-1000, 1000)])),
            "i3": maybe(chance.randrange(-128, 128)),
            "d1": maybe(chance.choice([*DOUBLES, chance.uniform(-1e6, 1e6)])),
            "d2": maybe(chance.choice([0.5, 3.0, chance.gauss(0, 10)])),
            "s1": maybe(chance.choice(TEXTS)),
            "s2": maybe("".join(chance.choice("ab,Z_%é😀 ") for _ in range(chance.randrange(9)))),
            "t1": maybe(chance.choice([*TIMES, chance.randrange(0, 4 * 10**12)])),
            "t2": maybe(chance.randrange(1_700_000_000_000, 1_800_000_000_000)),
        }
        for number in range(ROWS)
    ]


@cache
def oracle(seed: int) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect(config={"threads": 1})
    connection.execute("SET TimeZone = 'UTC'")
    connection.execute(
        "CREATE TABLE t (" + ", ".join(map(" ".join, zip(NAMES, TYPES.split(", "), strict=True))) + ")"
    )
    connection.executemany(
        f"INSERT INTO t VALUES ({', '.join('?' * len(NAMES))})", [list(row.values()) for row in rows(seed)]
    )
    return connection


@cache
def batch(seed: int) -> memoryview:
    """Return the same rows as records; a third of the times are text, half of the rows leave out NULLs."""
    records = []
    for row in rows(seed):
        given = {name: value for name, value in row.items() if value is not None or row["n"] % 2}
        if row["t1"] is not None and row["n"] % 3 == 0:
            time = datetime.fromtimestamp(row["t1"] // 1000, UTC)
            given["t1"] = f"{time:%Y-%m-%dT%H:%M:%S}.{row['t1'] % 1000:03}Z"
        records.append(Record(row["n"], 0, None, json.dumps(given, ensure_ascii=row["n"] % 2 == 0).encode()))
    return memoryview(encode_batch(records))


def view_rows(sql: str, seed: int) -> list[dict[str, Any]]:
    filtered = filter_batch(make_view(sql, DECLARED), batch(seed))
    assert filtered.unfit == 0
    return values(filtered)


def assert_same(ours: Any, theirs: Any, pair: Pair) -> None:
    same = ours == theirs
    if isinstance(ours, float) and isinstance(theirs, float):
        same = math.isclose(ours, theirs, rel_tol=1e-12)
    assert same, f"{pair.ours}\nview {ours!r}, DuckDB {theirs!r}\n{pair.duck}"


KINDS = pytest.mark.parametrize("kind", [BOOL, INT, DOUBLE, STRING, TIME])


@KINDS
def test_values_are_those_of_duckdb(kind: str) -> None:
    @settings(max_examples=EXAMPLES // 6, deadline=None, suppress_health_check=list(HealthCheck))
    @given(expressions(kind), st.integers(0, 5))
    def check(pair: Pair, seed: int) -> None:
        ours = view_rows(f"SELECT n, {pair.ours} AS x FROM t", seed)
        theirs = oracle(seed).execute(f"SELECT n, {pair.duck} AS x FROM t ORDER BY n").fetchall()
        assert [row["n"] for row in ours] == [number for number, _ in theirs]
        for row, (number, value) in zip(ours, theirs, strict=True):
            assert_same(row["x"], value, Pair(f"row {rows(seed)[number]}\n{pair.ours}", pair.duck))

    check()


@settings(max_examples=EXAMPLES // 6, deadline=None, suppress_health_check=list(HealthCheck))
@given(expressions(BOOL, 5), st.integers(0, 5))
def test_where_takes_the_rows_that_duckdb_takes(pair: Pair, seed: int) -> None:
    for ours, theirs in ((pair.ours, pair.duck), (f"NOT {pair.ours}", f"NOT {pair.duck}")):
        taken = [row["n"] for row in view_rows(f"SELECT n FROM t WHERE {ours}", seed)]
        wanted = oracle(seed).execute(f"SELECT n FROM t WHERE {theirs} ORDER BY n").fetchall()
        assert taken == [number for (number,) in wanted], f"{ours}\n{theirs}"
