"""The quarantine: one reason a record, the first that applies; one folder a batch, replaced when repeated."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.quarantine import SHOWN_CHARACTERS, bad_rows, publish_quarantine
from pipeline.rows import STAGED_PARTITION, STAGED_TOPIC, parse
from tests.pipeline.made import lake_shape, records


def reasons(spark: Any, *values: bytes | None, **schema: Any) -> list[str]:
    """Return why each of these values is bad; all of them are."""
    columns = "a bigint, b bigint not null, `it's` double"
    shape = lake_shape(columns, schema=schema)
    bad = bad_rows(parse(records(spark, values), shape), shape).orderBy("offset").collect()
    assert len(bad) == len(values)
    return [row.reason for row in bad]


def test_the_first_reason_that_holds_is_given(spark: Any) -> None:
    assert reasons(
        spark, b'{"a":"x","b":"y"}', b'{"b":"y"}', b'{"a":"x"}', b"{}", b'{"b":null}', b'{"b":1,"it\'s":"z"}'
    ) == [
        "column 'a' is bigint, but the value is x",
        "column 'b' is bigint, but the value is y",
        "column 'a' is bigint, but the value is x",
        "column 'b' is declared not null and has no value",
        "column 'b' is declared not null and has no value",
        "column 'it's' is double, but the value is z",
    ]


def test_a_reason_repeats_no_more_than_the_begin_of_a_value(spark: Any) -> None:
    (reason,) = reasons(spark, b'{"a":"' + b"x" * 5_000 + b'"}')

    assert reason == "column 'a' is bigint, but the value is " + "x" * SHOWN_CHARACTERS


def test_a_bad_row_is_kept_apart_by_topic_partition_and_nothing_of_the_record_is_lost(spark: Any) -> None:
    shape = lake_shape("a bigint")
    frame = records(spark, [b'{"a":"x"}', b'{"a":1}'], first=40, partition=3)

    (row,) = bad_rows(parse(frame, shape), shape).collect()

    assert (bytes(row.key), bytes(row.value), row.topic, row.partition, row.offset) == (
        b"40", b'{"a":"x"}', "t", 3, 40,
    )  # fmt: skip
    assert (row[STAGED_TOPIC], row[STAGED_PARTITION]) == ("t", 3)


def staged(tmp_path: Path, name: str = "land-t-0.parquet", content: bytes = b"rows") -> Path:
    folder = tmp_path / "staging" / "bad"
    folder.mkdir(parents=True)
    (folder / name).write_bytes(content)
    return folder


def landed(quarantine: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(quarantine)): path.read_bytes()
        for path in quarantine.rglob("*")
        if path.is_file()
    }


def test_bad_rows_land_in_a_folder_of_their_job_and_batch(tmp_path: Path) -> None:
    quarantine = tmp_path / "bad"
    folder = staged(tmp_path)

    publish_quarantine(folder, quarantine, job="land-t", batch=7)

    assert landed(quarantine) == {"job=land-t/batch=0000000007/land-t-0.parquet": b"rows"}
    assert not folder.exists()


def test_a_later_try_replaces_what_an_earlier_one_left(tmp_path: Path) -> None:
    quarantine = tmp_path / "bad"
    publish_quarantine(staged(tmp_path, "of-the-first-try"), quarantine, job="j", batch=7)
    (tmp_path / "staging").rmdir()

    publish_quarantine(staged(tmp_path, "of-the-second", b"more"), quarantine, job="j", batch=7)

    assert landed(quarantine) == {"job=j/batch=0000000007/of-the-second": b"more"}


def test_a_later_try_without_bad_rows_leaves_none(tmp_path: Path) -> None:
    quarantine = tmp_path / "bad"
    publish_quarantine(staged(tmp_path), quarantine, job="j", batch=7)

    publish_quarantine(tmp_path / "nothing", quarantine, job="j", batch=7)

    assert landed(quarantine) == {}
    assert not (quarantine / "job=j" / "batch=0000000007").exists()


@pytest.mark.parametrize(("job_name", "batch"), [("j", 8), ("other", 7)])
def test_other_batches_and_other_jobs_are_left_alone(job_name: str, batch: int, tmp_path: Path) -> None:
    quarantine = tmp_path / "bad"
    publish_quarantine(staged(tmp_path), quarantine, job="j", batch=7)

    publish_quarantine(tmp_path / "nothing", quarantine, job=job_name, batch=batch)

    assert list(landed(quarantine)) == ["job=j/batch=0000000007/land-t-0.parquet"]


def test_a_job_without_bad_rows_makes_no_quarantine(tmp_path: Path) -> None:
    publish_quarantine(tmp_path / "nothing", tmp_path / "bad", job="j", batch=0)

    assert list(tmp_path.iterdir()) == []
