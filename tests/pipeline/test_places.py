"""The folders of a job."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from pipeline.errors import SetupError
from pipeline.places import cache_folder, nearest_folder, places_of, problem_in, uri
from tests.pipeline.made import job


def test_the_jobs_own_folder_is_hidden_beside_the_table(tmp_path: Path) -> None:
    places = places_of(job(tmp_path))
    assert places.own == tmp_path / ".t.landing"
    assert places.leftovers.parent == places.lock.parent == places.log.parent == places.own
    assert places.checkpoint == places.own / "checkpoint"


def test_check_makes_nothing_and_prepare_makes_the_own_folder(tmp_path: Path) -> None:
    places = places_of(job(tmp_path))
    places.check()
    assert list(tmp_path.iterdir()) == []
    places.prepare()
    assert [path.name for path in tmp_path.iterdir()] == [".t.landing"]


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").write_text("")
    with pytest.raises(SetupError, match=f"{tmp_path}/t is a file"):
        places_of(job(tmp_path)).check()


def test_a_folder_without_the_right_to_write_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipeline.places.problem_in", lambda _: "Permission denied"
    )  # root may write everywhere
    with pytest.raises(SetupError, match=rf"nothing can be made in {tmp_path} \(Permission denied\)"):
        places_of(job(tmp_path)).check()


@pytest.mark.parametrize(
    "table", [{"sink": {"path": "/proc/t"}}, {"job": {"name": "a", "checkpoint": "/proc/c"}}]
)
def test_a_folder_in_which_nothing_can_be_made_is_refused_whatever_the_rights_say(
    tmp_path: Path, table: dict[str, dict[str, str]]
) -> None:
    """Root has the right to write in /proc: a run failed there, after a check that said it could run."""
    with pytest.raises(SetupError, match=r"cannot be made: nothing can be made in /proc \("):
        places_of(job(tmp_path, **table)).check()


def test_trying_to_make_something_leaves_nothing_even_without_files_that_have_no_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert problem_in(tmp_path) == ""

    def refuse(*_: object) -> int:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "open", refuse)
    assert problem_in(tmp_path) == ""
    assert list(tmp_path.iterdir()) == []


def test_a_table_in_the_table_of_another_job_is_refused(tmp_path: Path) -> None:
    places_of(job(tmp_path)).prepare()
    inner = job(tmp_path, job={"name": "inner"}, sink={"path": "t/batch=0000000001/more"})
    with pytest.raises(SetupError, match=f"in {tmp_path}/t, the table of another job"):
        places_of(inner).check()


def test_a_quarantine_on_another_file_system_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.places.problem_in", lambda _: "")
    assert Path("/proc/sys").stat().st_dev != tmp_path.stat().st_dev
    with pytest.raises(SetupError, match=r"/proc/sys/kernel is on another file system than .* by one rename"):
        places_of(job(tmp_path, errors={"path": "/proc/sys/kernel"})).check()


def test_the_nearest_folder_is_the_deepest_that_exists(tmp_path: Path) -> None:
    assert nearest_folder(tmp_path / "a" / "b") == tmp_path


def test_the_cache_follows_the_xdg_rules() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/caches"}) == Path("/caches/kawal")
    assert cache_folder({}) == Path.home() / ".cache" / "kawal"


def test_a_path_is_written_as_it_is() -> None:
    assert uri(Path("/lake/a b=50%")) == "file:///lake/a b=50%"


def test_each_process_makes_its_batches_in_a_folder_of_its_own(tmp_path: Path) -> None:
    places = places_of(job(tmp_path))
    assert places.staging.parent == places.leftovers
