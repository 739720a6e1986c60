"""Records land from the quarantine once, whatever happens on the way."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from pipeline import replay as module
from pipeline.errors import LedgerError
from pipeline.ledger import Ledger
from pipeline.replay import Replayed, print_replay, quarantined, replay
from pipeline.shape import shape_of
from pipeline.table_note import note_of
from tests.pipeline.jobs.test_land import Crash, World
from tests.pipeline.made import job, records

VALUES = [b'{"a":0}', b'{"a":5000000000}', b"junk"]


def bad_world(spark: Any, folder: Path) -> World:
    """Return a job that has landed one record and quarantined two, of which one fits a wider column."""
    world = World(spark, folder)
    world.open()(records(spark, VALUES), 0)
    world.job = job(folder, schema={"mode": "json", "columns": "a bigint"})
    return world


def run(world: World) -> Replayed:
    ledger = world.open().ledger
    note = note_of(world.job, shape_of(world.job))
    return replay(world.spark, world.job, ledger, world.places, note)


def rows(world: World) -> list[int]:
    return sorted(row.a for row in world.spark.read.parquet(str(world.places.table)).collect())


def still_bad(world: World) -> list[int]:
    return [row.offset for row in world.spark.read.parquet(str(world.places.quarantine)).collect()]


def test_what_fits_lands_once_and_the_rest_stays_with_its_reason(spark: Any, tmp_path: Path) -> None:
    world = bad_world(spark, tmp_path)
    assert run(world) == Replayed(1, 1)
    assert (rows(world), still_bad(world)) == ([0, 5_000_000_000], [2])
    assert quarantined(world.places, "land-t") == [1]
    assert run(world) == Replayed(0, 1)
    total = world.open().ledger.total
    assert (total.rows, total.bad, total.offsets) == (2, 1, 3)


@pytest.mark.parametrize("step", ["publish", "finish_removals"])
def test_a_crash_on_the_way_is_finished_by_the_next_replay(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    world = bad_world(spark, tmp_path)
    with monkeypatch.context() as patched:
        if step == "publish":
            patched.setattr(Ledger, "publish", lambda *_: (_ for _ in ()).throw(Crash))
        else:
            calls = iter([module.finish_removals, lambda *_: (_ for _ in ()).throw(Crash)])
            patched.setattr(module, "finish_removals", lambda *given: next(calls)(*given))
        with pytest.raises(Crash):
            run(world)
    assert rows(world) == ([0] if step == "publish" else [0, 5_000_000_000])
    assert run(world) == (Replayed(1, 1) if step == "publish" else Replayed(0, 1))
    assert (rows(world), still_bad(world)) == ([0, 5_000_000_000], [2])


def test_without_a_quarantine_there_is_nothing_to_do(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.open()(records(spark, [b"{}"]), 0)
    assert run(world) == Replayed(0, 0)


def test_a_table_in_which_nothing_landed_has_nothing_to_replay(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(LedgerError, match="run the job first"):
        run(World(spark, tmp_path))


def test_the_outcome_is_said(tmp_path: Path) -> None:
    out = io.StringIO()
    assert print_replay(job(tmp_path), Replayed(5, 1), out) == 0
    assert (
        out.getvalue()
        == f"land-t: 5 records landed from the quarantine, 1 are still bad, in {tmp_path}/t_bad\n"
    )
