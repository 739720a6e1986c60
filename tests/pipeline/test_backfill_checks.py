"""The keys that name a gateway's files are refused where they contradict each other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import JobFileError
from tests.pipeline.made import job


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({"bucket": {"region": "eu-1"}}, r"\[source.bucket\] is given, but source.backfill is empty"),
        ({"backfill": "s3://L/x"}, "source.backfill is 's3://L/x': a gateway's copy is at s3://BUCKET"),
        (
            {"backfill": "data", "bucket": {"store": "/x"}},
            "source.bucket.store is '/x': a gateway's copy is at",
        ),
        (
            {"backfill": "data", "bucket": {"cluster": "c"}},
            r"\[source.bucket\] is given, but source.backfill is 'data', which is not s3",
        ),
        (
            {"backfill": "s3://lake/k", "bucket": {"access_key_env": ""}},
            "source.bucket.access_key_env and source.bucket.secret_key_env belong together",
        ),
        (
            {"backfill": "data", "isolation": "read_uncommitted"},
            "source.isolation is 'read_uncommitted', but source.backfill",
        ),
    ],
)
def test_wrong_keys_are_refused_with_a_sentence(tmp_path: Path, source: dict[str, Any], problem: str) -> None:
    with pytest.raises(JobFileError, match=problem):
        job(tmp_path, source=source)


def test_only_tables_are_filled_from_files(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match=r"source\.backfill is given to a job of kind 'replicate'"):
        job(
            tmp_path,
            job={"kind": "replicate"},
            source={"backfill": "data"},
            target={"bootstrap": "127.0.0.1:1"},
        )


def test_a_relative_directory_counts_from_the_job_file_and_a_bucket_is_left_as_it_is(tmp_path: Path) -> None:
    assert job(tmp_path, source={"backfill": "data"}).source.backfill == f"{tmp_path}/data"
    assert job(tmp_path, source={"backfill": "s3://lake/k/"}).source.backfill == "s3://lake/k"
