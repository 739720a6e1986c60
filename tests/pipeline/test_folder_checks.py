"""Values that cannot be the name of a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from pipeline.folder_checks import NAME_MAX, PATH_MAX, folder_problems
from pipeline.folder_values import folder_name
from pipeline.sinks.file_writer import files_writer
from tests.pipeline.made import lake_shape
from tests.pipeline.sinks.test_file_writer import batch, plan_of, rows_of, written

LONG = "/" * 83
"""A text whose folder's name has 249 bytes after the column's name."""

texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=5) | st.just(LONG), max_size=8)


@given(name=st.sampled_from(["a", "/" * 60, "a" * 255]), values=texts, repeats=st.integers(1, 60))
@example(name="a", values=["é"], repeats=127)
@example(name="a", values=["é"], repeats=126)
@example(name="a", values=["/"], repeats=85)
def test_a_value_has_a_problem_if_the_name_of_its_folder_is_too_long(
    name: str, values: list[str], repeats: int
) -> None:
    column = [value * repeats for value in values]
    named = [len(folder_name(name, value).encode()) for value in column]
    found = folder_problems({name: pa.array(column, pa.string())})
    assert set(found) == {at for at, length in enumerate(named) if length > NAME_MAX}


def test_the_reason_names_the_column_the_length_and_the_limit() -> None:
    column = pa.array(["x", "y" * 254, None], pa.string())
    assert folder_problems({"b": column}) == {1: "column b names a folder of 256 bytes, and 255 are the most"}


def test_all_folders_of_a_row_have_a_limit_together() -> None:
    columns = {name: pa.array(["x" * 240, "x"], pa.string()) for name in "abc"}
    assert folder_problems(columns) == {
        0: f"columns a, b, c name folders of 729 bytes, and {PATH_MAX} are the most"
    }


def test_bytes_that_are_no_text_name_no_folder() -> None:
    column = pa.array([b"x", b"\xff", None], pa.binary())
    assert folder_problems({"a": column}) == {1: "column a names a folder, and its value is not UTF-8"}


def test_records_without_a_folder_are_bad_and_end_no_run(tmp_path: Path) -> None:
    shape = lake_shape("a int, side string", sink={"partition_by": ["SIDE"]})
    long = b'{"side":"%s"}' % (b"x" * 300)
    [good, bad], counts = written(plan_of(tmp_path, shape), batch([b'{"side":"x"}', long]))
    assert (good["folders"], counts["unfit"]) == ("side=x", 1)
    [row] = rows_of(bad)
    assert row["value"] == long
    assert row["reason"] == "column side names a folder of 305 bytes, and 255 are the most"


def test_of_raw_records_the_keys_that_name_no_folder_are_bad(tmp_path: Path) -> None:
    raw: dict[str, Any] = {"mode": "raw", "key": "string", "coordinates_prefix": "k_"}
    shape = lake_shape(schema=raw, sink={"partition_by": ["k_key"]})
    keys = [b"k", b"\xff", b"x" * 300, None]
    plan = plan_of(tmp_path, shape)
    [*results] = files_writer(plan)(iter([batch([b"v"] * 4, keys=keys)]))
    *files, counts = results[0].to_pylist()
    bad = [row for file in files if file["bad"] for row in rows_of(file)]
    assert [(row["key"], row["reason"]) for row in bad] == [
        (b"\xff", "column k_key names a folder, and its value is not UTF-8"),
        (b"x" * 300, "column k_key names a folder of 306 bytes, and 255 are the most"),
    ]
    assert (counts["unfit"], {file["folders"] for file in files if not file["bad"]}) == (
        2,
        {"k_key=k", "k_key=__HIVE_DEFAULT_PARTITION__"},
    )
