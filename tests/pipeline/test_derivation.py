"""The result of a view's query in place of the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.derivation import check_result, check_view, plan_of, view_reader
from pipeline.errors import JobFileError
from pipeline.ledger import Totals
from tests.pipeline.jobs.test_land import World
from tests.pipeline.made import LAKE, job, records

VIEW = "SELECT id, delay * 2 AS twice FROM t WHERE delay > 15"
COLUMNS = "id bigint, delay int"
SOURCE = {"view": VIEW, "view_columns": COLUMNS}


def test_workers_keep_what_the_view_takes_with_its_values() -> None:
    values = [b'{"id":1,"delay":3}', b'{"id":2,"delay":41}', b"junk"]
    batch = pa.RecordBatch.from_pydict({"value": pa.array(values, pa.binary()), "offset": [7, 8, 9]})
    [made] = view_reader(VIEW, COLUMNS)(iter([batch]))
    assert made.to_pydict() == {"value": [b'{"id":2,"twice":82}'], "offset": [8]}


def test_the_result_lands_and_what_the_view_leaves_out_is_not_missed(spark: Any, tmp_path: Path) -> None:
    schema = {"mode": "json", "columns": "id bigint, twice bigint"}
    world = World(spark, tmp_path, source=SOURCE, schema=schema)
    values: list[bytes | None] = [b'{"id":1,"delay":3}', b'{"id":2,"delay":41}', b"junk"]
    world.open()(records(spark, values), 0)
    rows = spark.read.parquet(str(world.places.table)).collect()
    assert [(row.id, row.twice, row.offset) for row in rows] == [(2, 82, 1)]
    total = world.open().ledger.total
    assert (total.offsets, total.rows, total.bad) == (3, 1, 0)
    assert total != Totals()


@pytest.mark.parametrize(
    ("source", "sentence"),
    [
        (
            {"view": "SELECT id FROM u", "view_columns": COLUMNS},
            "source.view reads 'u', but source.topics is",
        ),
        ({"view": "SELECT nope FROM t", "view_columns": COLUMNS}, "source.view cannot be evaluated"),
        ({"view": "SELECT count(*) FROM t", "view_columns": COLUMNS}, "source.view cannot be evaluated"),
        ({"view": "STABLE t"}, "source.view must be SELECT"),
        ({"view": "SELECT id FROM t", "view_columns": "id bigint tag"}, "declares tags"),
        ({"view_columns": COLUMNS}, "source.view_columns is given without source.view"),
    ],
)
def test_a_view_that_cannot_be_evaluated_is_refused_by_name(source: dict[str, str], sentence: str) -> None:
    with pytest.raises(JobFileError) as refused:
        check_view(job(LAKE, source=source).source)
    assert sentence in str(refused.value)


def test_a_query_without_declared_columns_can_use_what_every_record_has() -> None:
    assert plan_of("SELECT * FROM t WHERE _offset > 5", "").output is None


@pytest.mark.parametrize(
    ("columns", "sentence"),
    [
        (
            "n int, missing int",
            "schema.columns declares 'missing', which the result of source.view does not have",
        ),
        ("n string", "schema.columns declares 'n' as string, but it is int in the result of source.view"),
        ("s bigint", "schema.columns declares 's' as bigint, but it is string in the result of source.view"),
    ],
)
def test_a_table_of_what_a_view_does_not_give_is_refused(columns: str, sentence: str) -> None:
    """Such a job ran: its rows were null, or all of its records were bad."""
    source = {"view": "SELECT n, s, d FROM t", "view_columns": "n int, s string, d double"}
    with pytest.raises(JobFileError) as refused:
        check_result(job(LAKE, source=source).source, columns)
    assert sentence in str(refused.value)


def test_a_table_of_what_a_view_gives_is_taken() -> None:
    source = {"view": "SELECT n, s, d FROM t", "view_columns": "n int, s string, d double"}
    check_result(job(LAKE, source=source).source, "n bigint, s varchar(5), d double")
    check_result(job(LAKE, source={"view": "SELECT * FROM t WHERE _offset > 5"}).source, "any int")
