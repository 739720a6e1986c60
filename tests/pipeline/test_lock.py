"""One process per job."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pipeline.errors import ALREADY_RUNNING, JobRunningError
from pipeline.lock import job_lock, running_as


def test_a_second_run_is_refused_naming_the_first(tmp_path: Path) -> None:
    path = tmp_path / "own" / "lock"
    with (
        job_lock(path, "land-t"),
        pytest.raises(
            JobRunningError, match=f"'land-t' is running already, as process {os.getpid()} on "
        ) as refused,
        job_lock(path, "land-t"),
    ):
        pass
    assert refused.value.exit_code == ALREADY_RUNNING


def test_the_holder_is_known_while_it_runs_only(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    assert running_as(path) is None
    with job_lock(path, "land-t"):
        assert str(running_as(path)).startswith(f"process {os.getpid()} on ")
    assert running_as(path) is None


def test_the_lock_goes_when_the_run_fails(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    with pytest.raises(ZeroDivisionError), job_lock(path, "land-t"):
        raise ZeroDivisionError
    with job_lock(path, "land-t"):
        pass
