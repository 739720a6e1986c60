"""The values that folders name."""

from __future__ import annotations

from pipeline.folder_values import folder_values


def test_values_are_unescaped_and_the_default_folder_has_none() -> None:
    path = "batch=0000000001/origin=A%20B/date=__HIVE_DEFAULT_PARTITION__/a=b.parquet"
    assert folder_values(path) == {"batch": "0000000001", "origin": "A B", "date": None}
