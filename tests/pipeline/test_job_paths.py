"""The paths of a job file: none may be in another's way, and each must be one that a system can have."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import JobFileError
from tests.pipeline.made import job

NAMED = {"name": "land-t"}


@pytest.mark.parametrize(
    ("tables", "sentence"),
    [
        (
            {"errors": {"path": "."}},
            "errors.path is {0}, around the table {0}/t; give the quarantine a folder",
        ),
        ({"errors": {"path": ".t.landing"}}, "errors.path is {0}/.t.landing, in the job's own folder"),
        (
            {"errors": {"path": ".t.landing/bad"}},
            "errors.path is {0}/.t.landing/bad, in the job's own folder",
        ),
        ({"job": {**NAMED, "checkpoint": "."}}, "job.checkpoint is {0}, around the table {0}/t"),
        ({"job": {**NAMED, "checkpoint": ".t.landing"}}, "in the job's own folder {0}/.t.landing"),
        (
            {"job": {**NAMED, "checkpoint": ".t.landing/staging/c"}},
            "in the folder of batches being made {0}/.t.landing/staging; give the checkpoint",
        ),
        (
            {"job": {**NAMED, "checkpoint": "t_bad"}},
            "job.checkpoint is {0}/t_bad, in the quarantine {0}/t_bad",
        ),
        (
            {"job": {**NAMED, "metrics_file": "t/m.prom"}},
            "job.metrics_file is {0}/t/m.prom, in the table {0}/t",
        ),
        ({"job": {**NAMED, "metrics_file": "t_bad/m.prom"}}, "in the quarantine {0}/t_bad; put the metrics"),
    ],
)
def test_folders_of_a_job_that_are_in_each_other_are_refused(
    tmp_path: Path, tables: dict[str, Any], sentence: str
) -> None:
    """A checkpoint in the folder of batches being made was removed by the next run."""
    with pytest.raises(JobFileError) as refused:
        job(tmp_path, **tables)
    assert sentence.format(tmp_path) in str(refused.value)


def test_a_checkpoint_and_metrics_may_be_in_the_jobs_own_folder(tmp_path: Path) -> None:
    made = job(tmp_path, job={**NAMED, "checkpoint": ".t.landing/ck", "metrics_file": ".t.landing/m.prom"})
    assert made.job.checkpoint == str(tmp_path / ".t.landing" / "ck")
    assert made.job.metrics_file == str(tmp_path / ".t.landing" / "m.prom")


def test_a_path_longer_than_a_system_takes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(
        JobFileError, match=r"sink\.path is a path of [\d,]+ bytes; give one of 3,795 at most"
    ):
        job(tmp_path, sink={"path": "/".join(["a" * 200] * 30)})


def test_a_loop_of_links_is_refused(tmp_path: Path) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(JobFileError, match=r"sink\.path is 'loop/t', which cannot be followed"):
        job(tmp_path, sink={"path": "loop/t"})


def test_the_database_of_a_catalog_counts_from_the_folder_of_the_job_file(tmp_path: Path) -> None:
    """It counted from the working directory: a job started elsewhere made a second catalog."""
    catalog = {"type": "sql", "uri": "sqlite:///sub/c.db?timeout=5", "warehouse": "w"}
    made = job(tmp_path, sink={"kind": "iceberg", "catalog": catalog})
    assert made.sink.catalog == {**catalog, "uri": f"sqlite:///{tmp_path}/sub/c.db?timeout=5"}
    server = {"type": "rest", "uri": "http://a:1"}
    assert job(tmp_path, sink={"kind": "iceberg", "catalog": server}).sink.catalog == server
