"""The files of a batch: their names give their offsets, and their rows are counted in the files written."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crc32c
import pytest

from pipeline.errors import LedgerError
from pipeline.positions import Range
from pipeline.sinks.parquet import Layout, arrange, file_stem, stage

RANGES = [
    Range(topic="t", partition=0, begin=10, until=30),
    Range(topic="t", partition=1, begin=5, until=6),
]


def rows(spark: Any) -> Any:
    """Return twenty rows of t-0 and one of t-1, with a column to make folders of."""
    values = [("t", 0, f"x/{offset % 2}", offset) for offset in range(10, 30)] + [("t", 1, None, 5)]
    return spark.createDataFrame(
        values, "_kawal_topic string, _kawal_partition int, side string, offset long"
    ).repartition(3, "_kawal_partition")


def landed(spark: Any, tmp_path: Path, layout: Layout) -> dict[str, int]:
    staged = stage(rows(spark), tmp_path / "written", layout)
    files = arrange(staged, tmp_path / "written", tmp_path / "batch", RANGES)
    assert sorted(path.name for path in (tmp_path / "batch").rglob("*") if path.is_file()) == sorted(
        Path(file.path).name for file in files
    )
    for file in files:
        content = (tmp_path / "batch" / file.path).read_bytes()
        assert (file.size_bytes, file.crc32c) == (len(content), crc32c.crc32c(content))
    return {file.path: file.rows for file in files}


def test_a_file_is_named_after_the_offsets_it_holds(spark: Any, tmp_path: Path) -> None:
    assert landed(spark, tmp_path, Layout()) == {
        "land-t-0-00000000000000000010-00000000000000000030.parquet": 20,
        "land-t-1-00000000000000000005-00000000000000000006.parquet": 1,
    }


def test_partition_columns_are_folders_of_the_batch(spark: Any, tmp_path: Path) -> None:
    assert landed(spark, tmp_path, Layout(partition_by=("side",))) == {
        "side=x%2F0/land-t-0-00000000000000000010-00000000000000000030.parquet": 10,
        "side=x%2F1/land-t-0-00000000000000000010-00000000000000000030.parquet": 10,
        "side=__HIVE_DEFAULT_PARTITION__/land-t-1-00000000000000000005-00000000000000000006.parquet": 1,
    }
    table = spark.read.parquet(str(tmp_path / "batch"))
    assert {row.side for row in table.select("side").distinct().collect()} == {"x/0", "x/1", None}


def test_further_files_of_one_range_are_numbered(spark: Any, tmp_path: Path) -> None:
    assert landed(spark, tmp_path, Layout(max_rows_per_file=8)) == {
        "land-t-0-00000000000000000010-00000000000000000030.parquet": 8,
        "land-t-0-00000000000000000010-00000000000000000030-1.parquet": 8,
        "land-t-0-00000000000000000010-00000000000000000030-2.parquet": 4,
        "land-t-1-00000000000000000005-00000000000000000006.parquet": 1,
    }


def test_no_rows_are_no_files(spark: Any, tmp_path: Path) -> None:
    assert stage(rows(spark).where("false"), tmp_path / "written", Layout()) == {}


def test_rows_of_a_partition_outside_the_batch_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "written" / "_kawal_topic=t" / "_kawal_partition=7"
    folder.mkdir(parents=True)
    (folder / "part-00000.parquet").touch()
    with pytest.raises(LedgerError, match="rows of t-7 came in a batch that has none of its offsets"):
        arrange({folder / "part-00000.parquet": 1}, tmp_path / "written", tmp_path / "batch", RANGES)


def test_the_longest_topic_name_fits_into_a_file_name() -> None:
    longest = "a" * 249
    stem = file_stem(Range(topic=longest, partition=2**31 - 1, begin=2**62, until=2**63 - 1))
    assert len(f"{stem}-999999.parquet") <= 255
    assert stem != file_stem(Range(topic="a" * 248 + "b", partition=2**31 - 1, begin=2**62, until=2**63 - 1))
