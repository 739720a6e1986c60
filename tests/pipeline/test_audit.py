"""The comparison of a table with its source, which is made of records here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.audit import audit
from pipeline.compare import Finding
from pipeline.errors import LedgerError
from tests.pipeline.jobs.test_land import World
from tests.pipeline.made import entry, records

VALUES = [b'{"a":0}', b'{"a":1}', b"junk", b'{"a":3}', b'{"a":4}']


@pytest.fixture
def world(spark: Any, tmp_path: Path) -> World:
    made = World(spark, tmp_path)
    made.land_both()
    return made


def compared(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    frame: Any,
    earliest: int = 0,
    compacted: frozenset[str] = frozenset(),
) -> Finding:
    monkeypatch.setattr("pipeline.audit.compacted_topics", lambda *_: compacted)
    monkeypatch.setattr("pipeline.audit.read_range", lambda *_: frame.where(f"offset >= {earliest}"))
    [finding] = audit(world.spark, world.job, world.open().ledger, {"t": {"0": earliest}})
    return finding


def test_a_table_that_holds_what_its_topic_holds_is_equal(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compared(world, monkeypatch, records(world.spark, VALUES))
    assert found.equal
    assert (found.begin, found.until, found.table.rows, found.source.bad, found.empty) == (0, 5, 4, 1, 0)


def test_offsets_without_a_record_are_told_from_loss(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    found = compared(world, monkeypatch, records(world.spark, VALUES).where("offset != 2"))
    assert (found.equal, found.empty) == (True, 1)


def test_rows_whose_records_compaction_has_removed_are_told_from_extra_ones(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = records(world.spark, VALUES).where("offset not in (0, 3)")
    found = compared(world, monkeypatch, there, compacted=frozenset({"t"}))
    assert (found.equal, found.removed, found.table.rows, found.source.bad) == (True, 2, 2, 1), found
    assert not compared(world, monkeypatch, there).equal


def test_a_row_that_is_missing_or_different_is_a_difference_in_a_compacted_topic_too(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = records(world.spark, [b'{"a":7}', b'{"a":1}', b'{"a":2}']).where("offset > 1 or offset = 0")
    found = compared(world, monkeypatch, changed, compacted=frozenset({"t"}))
    assert found.differences == (
        "1 offsets missing in the table: 2",
        "1 offsets different in the table: 0",
    )


def test_changed_missing_and_extra_rows_are_named(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    changed = [b'{"a":7}', b'{"a":1}', b'{"a":2}', b'{"a":3}', b"junk"]
    found = compared(world, monkeypatch, records(world.spark, changed))
    assert found.differences == (
        "1 offsets missing in the table: 2",
        "1 offsets extra in the table: their records are no longer there: 4",
        "1 offsets different in the table: 0",
    )


def test_offsets_that_the_broker_has_deleted_are_not_compared(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = compared(world, monkeypatch, records(world.spark, VALUES), earliest=3)
    assert (found.equal, found.unseen, found.begin, found.table.rows) == (True, 3, 3, 2)


def test_a_table_in_which_nothing_landed_cannot_be_compared(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    with pytest.raises(LedgerError, match="nothing has landed"):
        audit(spark, world.job, world.open().ledger, {})


def test_rows_of_a_topic_that_was_made_again_are_left_out(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pipeline.ledger import Reset

    ledger = world.open().ledger
    assert ledger.last is not None
    reset = Reset(topic="t", old_id="a", new_id="b", ended={"0": 5})
    (world.places.staging / "batch").mkdir(parents=True)
    made = entry(
        2, 0, 0, kind="reset", reset=reset, ranges=[], positions={"t": {"0": 0}}, table=ledger.last.table
    )
    ledger.publish(world.places.staging / "batch", made)
    found = compared(world, monkeypatch, records(world.spark, []))
    assert (found.equal, found.table.rows, found.until) == (True, 0, 0)
