"""The quarantine: one folder a batch, replaced when the batch is repeated."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline.quarantine import claim, publish_quarantine, quarantine_folder
from tests.pipeline.made import entry, land


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


def test_bad_rows_of_a_batch_that_has_not_landed_go_when_another_run_claims_its_number(
    tmp_path: Path,
) -> None:
    quarantine = tmp_path / "bad"
    ledger = land(tmp_path, (0, 5))
    for batch in (0, 1):
        publish_quarantine(staged(tmp_path / str(batch)), quarantine, job="land-t", batch=batch)

    claim(ledger, quarantine)
    (tmp_path / "empty").mkdir()
    ledger.publish(tmp_path / "empty", entry(1, 5, 5, kind="compacted"))

    assert list(landed(quarantine)) == ["job=land-t/batch=0000000000/land-t-0.parquet"]
    assert not quarantine_folder(quarantine, job="land-t", batch=1).exists()
