"""Many small batches become few: which, how, and what a crash leaves."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest

from pipeline import compact
from pipeline.compact import compact_job, groups_of
from pipeline.errors import JobFileError, LedgerError
from pipeline.ledger import File, Totals
from tests.pipeline.jobs.test_land import FIRST, LANDED_ROWS, SECOND, Crash, World
from tests.pipeline.made import QUERY, entry, job, land, open_ledger


def sized(folder: Path, *sizes: int, kinds: str = "") -> Any:
    """Land batches of these sizes; an r in `kinds` makes one a reset."""
    for batch, size_bytes in enumerate(sizes):
        kind = "reset" if kinds[batch : batch + 1] == "r" else "landed"
        files = [File(path="part.parquet", rows=1, size_bytes=size_bytes, crc32c=0)]
        land(folder, (batch, batch + 1), files=files, kind=kind, landed=Totals(size_bytes=size_bytes))
    return open_ledger(folder)


@pytest.mark.parametrize(
    ("sizes", "kinds", "groups"),
    [
        ([10, 10, 10], "", [[0, 1, 2]]),
        ([60, 60, 30, 20], "", [[1, 2]]),
        ([200, 10, 10], "", [[1, 2]]),
        ([200, 200], "", []),
        ([10, 10, 0, 10, 10], "llrll", [[0, 1], [3, 4]]),
    ],
)
def test_neighbours_that_fit_together_become_one(
    tmp_path: Path, sizes: list[int], kinds: str, groups: list[list[int]]
) -> None:
    found = groups_of(sized(tmp_path, *sizes, kinds=kinds), 100)
    assert [[held.batch for held in group.entries] for group in found] == groups


@pytest.mark.parametrize("kind", ["parquet", "delta"])
def test_the_rows_stay_and_spark_may_repeat_any_batch(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(compact, "find_jars", lambda _environment: [])
    world = World(spark, tmp_path, sink={"kind": kind})
    world.land_both()
    out = io.StringIO()
    assert compact_job(world.job, 10**9, out) == 0
    assert "2 files of 2 batches are now 1" in out.getvalue()
    ledger = world.open().ledger
    found = ledger.find(QUERY, 0)
    assert found is not None
    assert (found.batch, ledger.positions, ledger.total.rows) == (0, {"t": {"0": 5}}, 4)
    again = world.open()
    again(world.records(SECOND), 1)
    assert again.run == Totals()
    if kind == "parquet":
        assert [(row[0], row[1]) for row in world.rows()] == [(row[0], row[1]) for row in LANDED_ROWS]
        assert not world.places.leftovers.exists() or list(world.places.leftovers.iterdir()) == []


def test_a_crash_before_the_exchange_leaves_the_table_as_it_was(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "find_jars", lambda _environment: [])
    world = World(spark, tmp_path)
    world.land_both()
    before = world.files()
    with monkeypatch.context() as patched:
        patched.setattr(compact, "exchange", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            compact_job(world.job, 10**9, io.StringIO())
    assert world.files() == before
    compact_job(world.job, 10**9, io.StringIO())
    assert [(row[0], row[1]) for row in world.rows()] == [(row[0], row[1]) for row in LANDED_ROWS]


def test_a_group_whose_rows_do_not_add_up_is_refused(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compact, "find_jars", lambda _environment: [])
    world = World(spark, tmp_path)
    world.open()(world.records(FIRST), 0)
    world.open()(world.records(SECOND), 1)
    before = world.files()
    one = spark.read.parquet(str(world.places.table)).limit(1)
    monkeypatch.setattr(compact, "read_files", lambda *_: one)
    with pytest.raises(LedgerError, match="batches 0 to 1 have 4 rows, but 1 were written"):
        compact_job(world.job, 10**9, io.StringIO())
    assert world.files() == before


def test_an_iceberg_table_is_left_to_its_engine(tmp_path: Path) -> None:
    with pytest.raises(JobFileError, match="compacted by its engine"):
        compact_job(job(tmp_path, sink={"kind": "iceberg"}), 1, io.StringIO())


def test_a_compacted_entry_names_its_batches(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5), (5, 9))
    [group] = [compact.Group((ledger.read(0), ledger.read(1)))]
    made = compact.merged_entry(ledger, group, [])
    assert [held.batch for held in made.merged] == [0, 1]
    assert (made.batch, made.ranges[0].begin, made.ranges[0].until) == (1, 0, 9)
    assert made.positions == entry(1, 5, 9).positions
