"""The job land: exactly once through crashes, bad records and wrong checkpoints.

The stream is simulated: a checkpoint as Spark writes it, and the batches it would hand over. A crash is an
exception of the probe, after which everything is opened again.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from pipeline.checkpoint import Checkpoint
from pipeline.errors import STOPPED_BY_BAD_ROWS, BadRowsError, LedgerError, SourceError
from pipeline.jobs.land import Land
from pipeline.ledger import Entry, Ledger, Totals
from pipeline.places import places_of
from pipeline.probe import no_probe
from pipeline.shape import shape_of
from pipeline.sinks.iceberg import catalog_properties
from pipeline.sinks.tables import ledger_of
from pipeline.table_note import note_of
from tests.pipeline.made import NEW_YEAR_MS, entry, job, records, write_checkpoint

JSON = {"mode": "json", "columns": "a int"}
VALUES = [b'{"a":0}', b'{"a":1}', b"junk", b'{"a":3}', b'{"a":4}']
FIRST, SECOND = slice(0, 3), slice(3, 5)
"""The two batches: offsets 0 to 2, of which the last is bad, and 3 to 4."""


class Crash(BaseException):
    """The death of the process."""


class World:
    """A job in a folder, its stream, and its table."""

    def __init__(self, spark: Any, folder: Path, **tables: Any) -> None:
        self.spark = spark
        self.job = job(folder, **{"schema": JSON, **tables})
        self.places = places_of(self.job)
        self.plan([{"t": {"0": 0}}, {"t": {"0": 3}}, {"t": {"0": 5}}])
        self.told: list[Entry] = []
        self.ids = {"t": "id-of-t"}

    def plan(self, planned: list[dict[str, dict[str, int]]], **changed: Any) -> None:
        write_checkpoint(self.places.checkpoint, planned=planned, **changed)

    def open(self, crash_at: str = "") -> Land:
        def probe(step: str, _batch: int) -> None:
            if step == crash_at:
                raise Crash

        return Land(
            job=self.job,
            shape=shape_of(self.job),
            places=self.places,
            ledger=ledger_of(self.job),
            checkpoint=Checkpoint(self.places.checkpoint),
            note=note_of(self.job, shape_of(self.job)),
            topic_ids=lambda: self.ids,
            now_ms=lambda: NEW_YEAR_MS,
            on_landed=self.told.append,
            probe=probe if crash_at else no_probe,
        )

    def records(self, which: slice) -> Any:
        return records(self.spark, VALUES[which], first=which.start)

    def land_both(self) -> None:
        land = self.open()
        land(self.records(FIRST), 0)
        land(self.records(SECOND), 1)

    def pretend_to_land_both(self) -> None:
        """Leave the entries of both batches, without rows."""
        ledger = self.open().ledger
        for batch, begin, until in ((0, 0, 3), (1, 3, 5)):
            (self.places.staging / "batch").mkdir(parents=True)
            ledger.publish(self.places.staging / "batch", entry(batch, begin, until))

    def files(self) -> dict[str, int]:
        return {
            str(path.relative_to(self.places.table.parent)): path.stat().st_mtime_ns
            for top in (self.places.table, self.places.quarantine)
            for path in top.rglob("*")
            if path.is_file()
        }

    def rows(self) -> list[tuple[int, int, int]]:
        table = self.spark.read.parquet(str(self.places.table)).orderBy("offset")
        return [(row.offset, row.a, row.batch) for row in table.collect()]


LANDED_ROWS = [(0, 0, 0), (1, 1, 0), (3, 3, 1), (4, 4, 1)]
LANDED_FILES = {
    "t/_common_metadata",
    "t/batch=0000000000/_landed.json",
    "t/batch=0000000000/land-t-0-00000000000000000000-00000000000000000003.parquet",
    "t/batch=0000000001/_landed.json",
    "t/batch=0000000001/land-t-0-00000000000000000003-00000000000000000005.parquet",
    "t_bad/job=land-t/batch=0000000000/land-t-0-00000000000000000000-00000000000000000003.parquet",
}


def test_batches_land_with_their_rows_their_bad_records_and_their_counts(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.land_both()
    assert world.rows() == LANDED_ROWS
    assert set(world.files()) == LANDED_FILES
    assert not world.places.staging.exists()
    [bad] = spark.read.parquet(str(world.places.quarantine)).collect()
    assert (bad.offset, bytes(bad.value), bad.job, bad.batch) == (2, b"junk", "land-t", 0)
    counted = Totals(batches=1, offsets=3, rows=2, bad=1, files=1, payload_bytes=7 + 7 + 4 + 3)
    sizes = [entry.landed.size_bytes for entry in world.told]
    assert world.told[0].landed.plus(Totals(size_bytes=-sizes[0])) == counted
    assert (world.told[1].total.rows, world.told[1].total.bad, world.told[1].total.size_bytes) == (
        4,
        1,
        sum(sizes),
    )
    assert world.told[1].positions == {"t": {"0": 5}}


def test_a_batch_that_has_landed_is_not_touched_again(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.land_both()
    before = world.files()
    again = world.open()
    again(world.records(SECOND), 1)
    assert world.files() == before
    assert again.run == Totals()


@pytest.mark.parametrize("step", ["planned", "written", "staged", "quarantined", "landed"])
def test_a_crash_at_any_step_leaves_whole_batches_and_the_next_run_makes_it_exact(
    spark: Any, tmp_path: Path, step: str
) -> None:
    world = World(spark, tmp_path)
    with pytest.raises(Crash):
        world.open(crash_at=step)(world.records(FIRST), 0)
    assert list(world.places.table.glob("batch=*")) == (
        [world.places.table / "batch=0000000000"] * (step == "landed")
    )
    world.land_both()
    assert world.rows() == LANDED_ROWS
    assert set(world.files()) == LANDED_FILES


def test_a_crash_between_quarantine_and_table_leaves_the_quarantine_once(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(spark, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "publish", lambda *_: (_ for _ in ()).throw(Crash))
        with pytest.raises(Crash):
            world.open()(world.records(FIRST), 0)
    world.land_both()
    assert set(world.files()) == LANDED_FILES


def test_a_lost_checkpoint_goes_on_where_the_table_ends(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.open()(world.records(FIRST), 0)
    shutil.rmtree(world.places.checkpoint)
    world.plan([{"t": {"0": 3}}, {"t": {"0": 5}}], query="a-new-one")
    world.open()(world.records(SECOND), 0)
    assert world.rows() == LANDED_ROWS


def test_a_checkpoint_that_would_land_records_again_is_refused(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.pretend_to_land_both()
    shutil.rmtree(world.places.checkpoint)
    world.plan([{"t": {"0": 0}}, {"t": {"0": 5}}], query="a-new-one")
    before, land = world.files(), world.open()
    with pytest.raises(LedgerError, match="would land again offsets 0 to 4") as refused:
        land(world.records(slice(0, 5)), 0)
    assert land.failure is refused.value
    assert world.files() == before


def test_an_older_copy_of_the_checkpoint_that_plans_otherwise_is_refused(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.pretend_to_land_both()
    world.plan([{"t": {"0": 0}}, {"t": {"0": 3}}, {"t": {"0": 4}}])
    with pytest.raises(LedgerError, match="has other offsets than when it landed as batch 1"):
        world.open()(world.records(slice(3, 4)), 1)


@pytest.mark.parametrize(
    ("remove", "sentence"),
    [
        ("t", "says that 2 batches have landed, but .*/t is empty"),
        ("t/batch=0000000001", "says that its batch 1 has landed, but .*/t ends with batch 0"),
    ],
)
def test_a_checkpoint_ahead_of_the_table_is_refused(
    spark: Any, tmp_path: Path, remove: str, sentence: str
) -> None:
    world = World(spark, tmp_path)
    world.pretend_to_land_both()
    world.plan([{"t": {"0": 0}}, {"t": {"0": 3}}, {"t": {"0": 5}}], committed=1)
    world.open().check_fits_table()
    shutil.rmtree(tmp_path / remove)
    with pytest.raises(LedgerError, match=sentence):
        world.open().check_fits_table()


def test_bad_records_stop_a_job_that_asks_for_it_and_nothing_lands(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path, errors={"mode": "fail"})
    with pytest.raises(BadRowsError, match=r"(?s)1 bad record in .* t-0 offset 2: not JSON") as stopped:
        world.open()(world.records(FIRST), 0)
    assert stopped.value.exit_code == STOPPED_BY_BAD_ROWS
    assert world.files() == {}


def test_a_job_stops_before_the_batch_that_brings_too_many_bad_records(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path, errors={"stop_after": 1})
    land = world.open()
    land(world.records(FIRST), 0)
    with pytest.raises(BadRowsError, match=r"that makes 2 in all, and errors\.stop_after is 1"):
        land(records(spark, [b"1", b'{"a":4}'], first=3), 1)
    assert world.open().ledger.total.bad == 1


def test_bad_records_can_be_counted_only(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path, errors={"mode": "skip"})
    world.land_both()
    assert world.rows() == LANDED_ROWS
    assert world.open().ledger.total.bad == 1
    assert not world.places.quarantine.exists()


def test_a_batch_of_bad_records_alone_lands_without_a_file(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.open()(records(spark, [b"1", b"2", b"3"]), 0)
    assert world.open().ledger.total.rows == 0
    assert world.open().ledger.positions == {"t": {"0": 3}}


def test_more_records_than_offsets_never_land(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path, schema={"mode": "raw"})
    with pytest.raises(LedgerError, match="3 offsets and 4 records"):
        world.open()(records(spark, [b"0", b"1", b"2", b"2"]), 0)
    assert world.files() == {}


def test_offsets_without_a_record_are_counted(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path, schema={"mode": "raw"})
    world.open()(records(spark, [b"0", b"1"]), 0)
    total = world.open().ledger.total
    assert (total.offsets, total.rows) == (3, 2)


def test_an_entry_tells_the_topics_ids_the_columns_and_the_newest_record(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.land_both()
    last = world.open().ledger.last
    assert last is not None
    assert (last.format, last.topics, last.newest_ms) == (2, {"t": "id-of-t"}, NEW_YEAR_MS + 4)
    assert last.table is not None
    assert last.table.columns["a"] == "int"


def test_a_batch_of_a_topic_that_was_made_again_meanwhile_does_not_land(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.open()(world.records(FIRST), 0)
    before = world.files()
    world.ids = {"t": "another"}
    with pytest.raises(SourceError, match="'t' was deleted and made again while a batch of it"):
        world.open()(world.records(SECOND), 1)
    assert world.files() == before


def test_records_much_older_than_the_newest_are_counted_as_late(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path, source={"late_after": "1ms"}, schema={"mode": "raw"})
    world.open()(world.records(FIRST), 0)
    world.plan([{"t": {"0": 0}}, {"t": {"0": 3}}, {"t": {"0": 8}}])
    again = records(spark, [b"late", b"late", b"in time", b"newer", b"newer"], first=3).selectExpr(
        "* except (timestamp)", "timestamp - interval 3 milliseconds as timestamp"
    )
    world.open()(again, 1)
    assert world.told[1].landed.late == 1


def test_a_table_that_was_widened_is_read_by_spark_as_one(spark: Any, tmp_path: Path) -> None:
    world = World(spark, tmp_path)
    world.open()(world.records(FIRST), 0)
    world.job = job(tmp_path, schema={"mode": "json", "columns": "a bigint, b string"})
    world.open()(records(spark, [b'{"a":5000000000,"b":"x"}', b"{}"], first=3), 1)
    table = spark.read.parquet(str(world.places.table))
    assert (table.schema["a"].dataType.simpleString(), "b" in table.columns) == ("bigint", True)
    found = [(row.a, row.b) for row in table.orderBy("offset").collect()]
    assert found == [(0, None), (1, None), (5_000_000_000, "x"), (None, None)]


def rows_of_lake(world: World, kind: str) -> list[tuple[int, int]]:
    """Read the table by its log, without Spark."""
    if kind == "delta":
        from deltalake import DeltaTable

        found = DeltaTable(world.places.table).to_pyarrow_table() if world.places.table.exists() else None
    else:
        from pyiceberg.catalog import load_catalog

        catalog = load_catalog(
            "kawal", **catalog_properties({}, world.places.own / "catalog.db", world.places.table)
        )
        found = catalog.load_table("kawal.t").scan().to_arrow() if catalog.table_exists("kawal.t") else None
    if found is None:
        return []
    return sorted(zip(found["offset"].to_pylist(), found["a"].to_pylist(), strict=True))


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
@pytest.mark.parametrize("step", ["written", "quarantined", "placed", "landed"])
def test_a_crash_at_any_step_leaves_whole_batches_in_a_table_with_a_log(
    spark: Any, tmp_path: Path, step: str, kind: str
) -> None:
    world = World(spark, tmp_path, sink={"kind": kind, "partition_by": ["date"]})
    world.open()(world.records(FIRST), 0)
    with pytest.raises(Crash):
        world.open(crash_at=step)(world.records(SECOND), 1)
    whole = [(row[0], row[1]) for row in LANDED_ROWS]
    assert rows_of_lake(world, kind) == (whole if step == "landed" else whole[:2])
    again = world.open()
    again(world.records(SECOND), 1)
    assert rows_of_lake(world, kind) == whole
    assert world.open().ledger.total.rows == 4
