"""The files that a task writes of its records, and what it tells about them."""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pipeline.sinks import task_files
from pipeline.sinks.file_writer import FilesPlan, files_writer
from pipeline.sinks.task_files import Layout
from tests.pipeline.made import NEW_YEAR_MS, lake_shape

UTC_US = pa.timestamp("us", tz="UTC")


def batch(
    values: Sequence[bytes | None],
    *,
    first: int = 0,
    partitions: Sequence[int] | None = None,
    keys: Sequence[bytes | None] | None = None,
    times_ms: Sequence[int] | None = None,
) -> Any:
    """Return records of topic t as Spark sends them to a worker, with offsets from `first` on."""
    count = len(values)
    times = times_ms or [NEW_YEAR_MS + at for at in range(count)]
    return pa.RecordBatch.from_pydict(
        {
            "key": pa.array(keys or [None] * count, pa.binary()),
            "value": pa.array(values, pa.binary()),
            "topic": ["t"] * count,
            "partition": pa.array(partitions or [0] * count, pa.int32()),
            "offset": pa.array(range(first, first + count), pa.int64()),
            "timestamp": pa.array([1_000 * ms for ms in times], pa.int64()).cast(UTC_US),
            "timestampType": pa.array([0] * count, pa.int32()),
        }
    )


def plan_of(folder: Path, shape: Any, **fields: Any) -> FilesPlan:
    layout = fields.pop("layout", Layout(partition_by=shape.partition_by))
    return FilesPlan(shape=shape, folder=str(folder / "written"), layout=layout, **fields)


def written(plan: FilesPlan, *batches: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return what a task tells of its files, and its counts."""
    [result] = files_writer(plan)(iter(batches))
    *files, counts = result.to_pylist()
    assert all(file["path"] for file in files)
    assert counts["path"] is None
    return files, counts


def rows_of(file: dict[str, Any]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = pq.ParquetFile(file["path"]).read().to_pylist()
    return found


def test_rows_that_fit_become_a_file_of_the_declared_columns_and_the_records_place(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, lake_shape("a int"))
    [file], counts = written(plan, batch([b'{"a":1}', None], first=7, keys=[b"k", None]))
    assert [list(row.items())[:4] for row in rows_of(file)] == [
        [("a", 1), ("key", "k"), ("topic", "t"), ("partition", 0)],
        [("a", None), ("key", None), ("topic", "t"), ("partition", 0)],
    ]
    assert [row["offset"] for row in rows_of(file)] == [7, 8]
    assert (file["topic"], file["partition"], file["folders"], file["first"], file["bad"]) == (
        *("t", 0, "", 7),
        False,
    )
    assert counts == {
        **dict.fromkeys(("path", "topic", "partition", "folders", "first", "serial", "bad")),
        "records": 2,
        "kept": 2,
        "unfit": 0,
        "late": 0,
        "payload_bytes": 8,
        "newest_ms": NEW_YEAR_MS + 1,
    }


def test_records_that_do_not_fit_are_written_as_they_came_and_only_counted_where_they_are_not_kept(
    tmp_path: Path,
) -> None:
    records = batch([b"junk", b'{"a":1}'], keys=[b"\xff", b"k"])
    plan = plan_of(tmp_path, lake_shape("a int"))
    [good, bad], counts = written(plan, records)
    assert (good["bad"], bad["bad"], counts["unfit"], counts["kept"]) == (False, True, 1, 2)
    [row] = rows_of(bad)
    assert list(row) == ["reason", "key", "value", "topic", "partition", "offset", "timestamp"]
    assert (row["reason"][:8], row["key"], row["value"], row["offset"]) == ("not JSON", b"\xff", b"junk", 0)
    [only], counts = written(plan_of(tmp_path, lake_shape("a int"), keeps_bad=False), records)
    assert (only["bad"], counts["unfit"]) == (False, 1)


def test_each_partition_and_each_folder_has_files_of_its_own_without_the_folders_columns(
    tmp_path: Path,
) -> None:
    shape = lake_shape("a int, side string", sink={"partition_by": ["SIDE", "date"]})
    values = [b'{"a":%d,"side":"x/%d"}' % (at, at % 2) for at in range(4)] + [b'{"a":4}']
    files, _ = written(plan_of(tmp_path, shape), batch(values, partitions=[0, 0, 0, 1, 1]))
    found = {(file["partition"], file["folders"]): [row["a"] for row in rows_of(file)] for file in files}
    day = "date=2013-01-01"
    assert found == {
        (0, f"side=x%2F0/{day}"): [0, 2],
        (0, f"side=x%2F1/{day}"): [1],
        (1, f"side=x%2F1/{day}"): [3],
        (1, f"side=__HIVE_DEFAULT_PARTITION__/{day}"): [4],
    }
    assert "side" not in rows_of(files[0])[0]


def test_iceberg_has_the_folders_columns_in_the_files_too(tmp_path: Path) -> None:
    shape = lake_shape("a int, side string", sink={"partition_by": ["side", "hour"]})
    layout = Layout(partition_by=("side", "hour"), keeps_columns=True)
    [file], _ = written(plan_of(tmp_path, shape, layout=layout), batch([b'{"side":"x"}']))
    [row] = rows_of(file)
    assert (row["side"], row["hour"], file["folders"]) == ("x", 0, "side=x/hour=0")


def test_records_older_than_the_limit_are_late(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, lake_shape("a int"), late_before_ms=1_000)
    _, counts = written(plan, batch([b"{}"] * 3, times_ms=[999, 1_000, 500]), batch([b"{}"], times_ms=[2]))
    assert (counts["late"], counts["newest_ms"], counts["records"]) == (3, 1_000, 4)


def test_the_name_of_the_only_topic_need_not_come_with_the_records(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, lake_shape("a int"), topic="t")
    records = batch([b"{}"])
    [file], _ = written(plan, records.drop_columns(["topic"]))
    assert rows_of(file)[0]["topic"] == file["topic"] == "t"


def test_of_a_view_the_records_are_counted_that_it_keeps(tmp_path: Path) -> None:
    view = {"view": "SELECT a * 2 AS b FROM t WHERE a > 1", "view_columns": "a int"}
    plan = plan_of(tmp_path, lake_shape("b int", source=view))
    [file], counts = written(plan, batch([b'{"a":1}', b'{"a":4}']))
    assert [(row["b"], row["offset"]) for row in rows_of(file)] == [(8, 1)]
    assert (counts["records"], counts["kept"], file["first"]) == (2, 1, 1)


def test_raw_records_keep_their_bytes_also_as_keys_that_are_said_to_be_text(tmp_path: Path) -> None:
    shape = lake_shape(schema={"mode": "raw", "key": "string"})
    [file], counts = written(plan_of(tmp_path, shape), batch([b"\xff"], keys=[b"\xfe"]))
    table = pq.ParquetFile(file["path"]).read()
    assert table["key"].combine_chunks().cast(pa.binary()).to_pylist() == [b"\xfe"]
    assert (table["value"].to_pylist(), table["timestamp_type"].to_pylist()) == ([b"\xff"], [0])
    assert counts["unfit"] == 0


def test_files_are_as_spark_writes_them(tmp_path: Path) -> None:
    shape = lake_shape("a decimal(6,2), b decimal(20,2), at timestamp")
    [file], _ = written(plan_of(tmp_path, shape), batch([b'{"a":1.25,"at":"2013-01-01T00:00:00Z"}']))
    parquet = pq.ParquetFile(file["path"])
    kinds = {parquet.schema.column(at).name: parquet.schema.column(at).physical_type for at in range(3)}
    assert kinds == {"a": "INT32", "b": "FIXED_LEN_BYTE_ARRAY", "at": "INT64"}
    assert "isAdjustedToUTC=true" in str(parquet.schema.column(2).logical_type)
    assert parquet.metadata.metadata is None, "no schema of Arrow's"
    assert parquet.metadata.row_group(0).column(0).compression == "ZSTD"


@pytest.mark.parametrize(
    ("codec", "stored"),
    [("snappy", "SNAPPY"), ("gzip", "GZIP"), ("lz4_raw", "LZ4"), ("uncompressed", "UNCOMPRESSED")],
)
def test_each_codec_of_the_job_file_is_used(tmp_path: Path, codec: str, stored: str) -> None:
    plan = plan_of(tmp_path, lake_shape("a int"), layout=Layout(compression=codec))
    [file], _ = written(plan, batch([b"{}"]))
    assert pq.ParquetFile(file["path"]).metadata.row_group(0).column(0).compression == stored


def test_attempts_of_a_task_do_not_write_to_each_others_files(tmp_path: Path) -> None:
    plan = plan_of(tmp_path, lake_shape("a int"))
    [first], _ = written(plan, batch([b"{}"]))
    [again], _ = written(plan, batch([b"{}"]))
    assert first["path"] != again["path"]
    assert rows_of(first) == rows_of(again)


def test_a_task_without_records_makes_no_folder_and_counts_nothing(tmp_path: Path) -> None:
    files, counts = written(plan_of(tmp_path, lake_shape("a int")))
    assert (files, counts["records"], counts["kept"], list(tmp_path.iterdir())) == ([], 0, 0, [])


def test_the_plan_can_be_sent_to_workers(tmp_path: Path) -> None:
    plan = pickle.loads(pickle.dumps(plan_of(tmp_path, lake_shape("a int"))))
    assert len(written(plan, batch([b"{}"]))[0]) == 1


RECORDS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(["x", "y", "", None]), st.booleans()), max_size=30
)


@settings(max_examples=60, deadline=None)
@given(records=RECORDS, cuts=st.sets(st.integers(0, 30)), most=st.integers(0, 4), buffer=st.integers(1, 500))
def test_every_record_is_in_one_file_of_its_partition_and_folder_in_the_order_of_offsets(
    tmp_path_factory: pytest.TempPathFactory,
    records: list[tuple[int, str | None, bool]],
    cuts: set[int],
    most: int,
    buffer: int,
) -> None:
    folder = tmp_path_factory.mktemp("task")
    shape = lake_shape("a int, side string", sink={"partition_by": ["side"]})
    edges = sorted({0, len(records), *(cut for cut in cuts if cut < len(records))})
    batches = []
    for begin, end in pairwise(edges):
        part = records[begin:end]
        values: list[bytes | None] = [
            (b'{"a":%d,"side":%s}' % (begin + at, b"null" if side is None else b'"%s"' % side.encode()))
            if fits
            else b"junk"
            for at, (_, side, fits) in enumerate(part)
        ]
        batches.append(batch(values, first=begin, partitions=[partition for partition, _, _ in part]))
    layout = Layout(partition_by=("side",), max_rows_per_file=most)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_files, "BUFFER_BYTES", buffer)
        patch.setattr(task_files, "OPEN_FILES_MAX", 2)
        files, counts = written(plan_of(folder, shape, layout=layout), *batches)
    expected: dict[tuple[bool, int, str], list[int]] = {}
    for offset, (partition, side, fits) in enumerate(records):
        name = f"side={side or '__HIVE_DEFAULT_PARTITION__'}" if fits else ""
        expected.setdefault((not fits, partition, name), []).append(offset)
    found: dict[tuple[bool, int, str], list[int]] = {}
    for file in sorted(files, key=lambda file: file["serial"]):
        rows = rows_of(file)
        assert not most or file["bad"] or len(rows) <= most
        found.setdefault((file["bad"], file["partition"], file["folders"]), []).extend(
            row["offset"] for row in rows
        )
    assert found == expected
    assert (counts["records"], counts["kept"]) == (len(records), len(records))
    assert counts["unfit"] == sum(not fits for _, _, fits in records)
