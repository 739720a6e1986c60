"""The result of a view's query in place of the records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pipeline.derivation import check_view, plan_of, view_reader
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
