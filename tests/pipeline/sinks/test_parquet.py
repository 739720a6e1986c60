"""The files of a batch: their names give their offsets, and their rows are counted in the files written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crc32c
import pytest

from pipeline.errors import LedgerError
from pipeline.positions import Range
from pipeline.sinks.file_writer import FilesPlan
from pipeline.sinks.parquet import Staged, Written, arrange, file_stem, stage
from pipeline.sinks.task_files import Layout
from tests.pipeline.made import lake_shape, records

RANGES = [
    Range(topic="t", partition=0, begin=10, until=30),
    Range(topic="t", partition=1, begin=5, until=6),
]
STEMS = [
    "land-t-0-00000000000000000010-00000000000000000030",
    "land-t-1-00000000000000000005-00000000000000000006",
]


def source(spark: Any) -> Any:
    """Return twenty records of t-0 in two tasks, and one of t-1."""
    values = [b'{"a":%d,"side":"x/%d"}' % (offset, offset % 2) for offset in range(10, 30)]
    parts = [
        records(spark, values[12:], first=22),
        records(spark, values[:12], first=10),
        records(spark, [b"{}"], first=5, partition=1),
    ]
    tasks = spark.sparkContext.union([part.rdd for part in parts])
    return spark.createDataFrame(tasks, parts[0].schema)


def staged(spark: Any, folder: Path, layout: Layout) -> Staged:
    shape = lake_shape("a int, side string", sink={"partition_by": list(layout.partition_by)})
    return stage(source(spark), FilesPlan(shape=shape, folder=str(folder / "written"), layout=layout))


def landed(spark: Any, tmp_path: Path, layout: Layout) -> dict[str, int]:
    files = arrange(staged(spark, tmp_path, layout).good, tmp_path / "batch", RANGES)
    assert sorted(path.name for path in (tmp_path / "batch").rglob("*") if path.is_file()) == sorted(
        Path(file.path).name for file in files
    )
    for file in files:
        content = (tmp_path / "batch" / file.path).read_bytes()
        assert (file.size_bytes, file.crc32c) == (len(content), crc32c.crc32c(content))
    return {file.path: file.rows for file in files}


def test_a_file_is_named_after_the_offsets_it_holds_and_further_ones_of_other_tasks_are_numbered(
    spark: Any, tmp_path: Path
) -> None:
    assert landed(spark, tmp_path, Layout()) == {
        f"{STEMS[0]}.parquet": 12,
        f"{STEMS[0]}-1.parquet": 8,
        f"{STEMS[1]}.parquet": 1,
    }


def test_partition_columns_are_folders_of_the_batch(spark: Any, tmp_path: Path) -> None:
    assert landed(spark, tmp_path, Layout(partition_by=("side",))) == {
        f"side=x%2F0/{STEMS[0]}.parquet": 6,
        f"side=x%2F0/{STEMS[0]}-1.parquet": 4,
        f"side=x%2F1/{STEMS[0]}.parquet": 6,
        f"side=x%2F1/{STEMS[0]}-1.parquet": 4,
        f"side=__HIVE_DEFAULT_PARTITION__/{STEMS[1]}.parquet": 1,
    }
    table = spark.read.parquet(str(tmp_path / "batch"))
    assert {row.side for row in table.select("side").distinct().collect()} == {"x/0", "x/1", None}


def test_files_of_one_range_are_numbered_in_the_order_of_their_offsets(spark: Any, tmp_path: Path) -> None:
    assert landed(spark, tmp_path, Layout(max_rows_per_file=8)) == {
        f"{STEMS[0]}.parquet": 8,
        f"{STEMS[0]}-1.parquet": 4,
        f"{STEMS[0]}-2.parquet": 8,
        f"{STEMS[1]}.parquet": 1,
    }


def test_the_counts_of_all_tasks_are_added_up(spark: Any, tmp_path: Path) -> None:
    found = staged(spark, tmp_path, Layout())
    assert (found.records, found.kept, found.unfit, found.late) == (21, 21, 0, 0)
    assert found.bad == []


def test_spark_reads_what_lands_as_it_reads_the_records(spark: Any, tmp_path: Path) -> None:
    from pipeline.rows import good_rows, parse

    shape = lake_shape(
        "a bigint, b double, c decimal(6,2), d timestamp, e date, f array<int>, g struct<h: int>, "
        "i map<string, string>, j boolean, k smallint",
        schema={"rescue": "rest", "headers": True},
    )
    value = (
        b'{"a":1,"b":0.5,"c":12.35,"d":"2013-01-01T10:00:00Z","e":"2013-01-01","f":[1,null],"g":{"h":1},'
        b'"i":{"x":"y"},"j":true,"k":7,"l":"more"}'
    )
    given = records(spark, [value, None, b"{}"])
    plan = FilesPlan(shape=shape, folder=str(tmp_path / "written"), layout=Layout())
    files = stage(given, plan).good
    read = spark.read.parquet(*(str(file.path) for file in files))
    expected = good_rows(parse(given, shape), shape)
    assert read.schema.simpleString() == expected.schema.simpleString()
    assert read.orderBy("offset").collect() == expected.orderBy("offset").collect()


def test_no_rows_are_no_files(spark: Any, tmp_path: Path) -> None:
    plan = FilesPlan(shape=lake_shape("a int"), folder=str(tmp_path / "written"), layout=Layout())
    found = stage(source(spark).where("false"), plan)
    assert (found.good, found.bad, found.records) == ([], [], 0)


def test_rows_of_a_partition_outside_the_batch_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "made.parquet"
    path.touch()
    made = Written(path, "t", 7, "", 0, 0, 1)
    with pytest.raises(LedgerError, match="rows of t-7 came in a batch that has none of its offsets"):
        arrange([made], tmp_path / "batch", RANGES)


def test_the_longest_topic_name_fits_into_a_file_name() -> None:
    longest = "a" * 249
    stem = file_stem(Range(topic=longest, partition=2**31 - 1, begin=2**62, until=2**63 - 1))
    assert len(f"{stem}-999999.parquet") <= 255
    assert stem != file_stem(Range(topic="a" * 248 + "b", partition=2**31 - 1, begin=2**62, until=2**63 - 1))
