"""The job replicate: what ledger and target say of each other, with a target that keeps what it is given."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from pipeline.checkpoint import Checkpoint
from pipeline.errors import TargetError
from pipeline.jobs.replicate import REFUSED, Replicate, _without_record
from pipeline.ledger import Ledger, Totals
from pipeline.offset_map import MapRecord, Origin, Run
from pipeline.places import places_of
from pipeline.positions import Range
from pipeline.shape import shape_of
from pipeline.sinks.tables import ledger_of
from pipeline.table_note import note_of
from tests.pipeline.made import entry, job

Place = tuple[str, int]


class FakeTarget:
    """A target with positions that can be committed."""

    settings: Mapping[str, str] = {"bootstrap.servers": "b:1"}
    group = "kawal-replicate-land-t"
    transaction_timeout_ms = 1000
    topics: Mapping[str, str] = {"t": "there"}

    def __init__(self, held: dict[Place, int]) -> None:
        self.held = held
        self.prepared: Mapping[str, int] | None = None

    def prepare(self, partitions: Mapping[str, int], _configs: object) -> list[str]:
        self.prepared = partitions
        return []

    def ids(self) -> dict[str, str]:
        return {"there": "id"}

    def positions(self, _partitions: Mapping[str, int]) -> dict[Place, int]:
        return dict(self.held)

    def commit(self, positions: Mapping[Place, int]) -> None:
        self.held |= positions


def copy_to(target: FakeTarget, folder: Path, *, landed: int | None, cluster: str = "west") -> Replicate:
    job_of = job(
        folder,
        job={"name": "land-t", "kind": "replicate"},
        target={"bootstrap": "b:1", "topic": "there"},
    )
    ledger = ledger_of(job_of)
    if landed is not None:
        publish(ledger, folder, 0, landed)
    return Replicate(
        job=job_of,
        shape=shape_of(job_of),
        places=places_of(job_of),
        ledger=ledger,
        checkpoint=Checkpoint(folder / "checkpoint"),
        note=note_of(job_of, shape_of(job_of)),
        now_ms=lambda: 0,
        on_landed=lambda _entry: None,
        target=target,  # type: ignore[arg-type]
        source_settings={"bootstrap.servers": "a:1"},
        source_cluster="east",
        target_cluster=cluster,
        partitions={"t": 1},
    )


def publish(ledger: Ledger, folder: Path, begin: int, until: int) -> None:
    (folder / "staged").mkdir()
    ledger.publish(folder / "staged", entry(ledger.next_batch, begin, until, files=[], landed=Totals()))


def map_record(until: int, *, target_id: str = "id", job: str = "land-t", **more: Any) -> MapRecord:
    given: dict[str, Any] = {
        "topic": "t",
        "partition": 0,
        "target_topic": "there",
        "begin": 0,
        "origins": [Origin("east", "t")],
        "runs": [],
    }
    return MapRecord(job=job, until=until, target_id=target_id, **{**given, **more})


def test_a_target_that_is_ahead_of_the_ledger_by_a_batch_is_right(tmp_path: Path) -> None:
    copy_to(FakeTarget({("t", 0): 9}), tmp_path, landed=5).check_fits_target()


def test_a_target_that_is_behind_the_ledger_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TargetError, match=r"there-0 on b:1 ends at offset 3 of 't', but .* up to 5"):
        copy_to(FakeTarget({("t", 0): 3}), tmp_path, landed=5).check_fits_target()


def test_positions_that_have_expired_are_set_again_from_the_map(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipeline.jobs.replicate.read_map", lambda _: ([map_record(5), map_record(9, job="other")], 2)
    )
    target = FakeTarget({})
    copy_to(target, tmp_path, landed=5).check_fits_target()
    assert target.held == {("t", 0): 5}


def test_a_target_topic_that_was_made_again_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pipeline.jobs.replicate.read_map", lambda _: ([map_record(5, target_id="another")], 1)
    )
    with pytest.raises(TargetError, match="deleted, made again or restored from a backup"):
        copy_to(FakeTarget({}), tmp_path, landed=5).check_fits_target()


def test_a_job_whose_ledger_was_lost_goes_on_where_the_target_ends(tmp_path: Path) -> None:
    assert copy_to(FakeTarget({("t", 0): 7}), tmp_path, landed=None).begins == {"t": {"0": 7}}
    (tmp_path / "b").mkdir()
    assert copy_to(FakeTarget({("t", 0): 7}), tmp_path / "b", landed=5).begins == {"t": {"0": 5}}


def test_what_came_from_others_is_asked_for_only_between_two_clusters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    came = map_record(9, job="back", topic="there", target_topic="t", runs=[Run(0, 2, 3), Run(5, 90, 1)])
    asked: list[int] = []

    def read(_settings: object, begin: int) -> tuple[list[MapRecord], int]:
        asked.append(begin)
        return [came] if begin == 0 else [], 1

    monkeypatch.setattr("pipeline.jobs.replicate.read_map", read)
    copy = copy_to(FakeTarget({}), tmp_path, landed=None)
    ranges = entry(0, 0, 9).ranges
    assert copy._plan(ranges).foreign == {("t", 0): [(2, 5, Origin("east", "t"))]}
    assert copy._plan(ranges).foreign == {("t", 0): [(2, 5, Origin("east", "t"))]}
    assert asked == [0, 1]
    (tmp_path / "b").mkdir()
    assert copy_to(FakeTarget({}), tmp_path / "b", landed=None, cluster="east")._plan(ranges).foreign == {}


def test_the_ends_of_ranges_without_a_record_are_committed_by_the_driver(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.jobs.replicate.read_map", lambda _settings, begin: ([], begin))
    copy = copy_to(FakeTarget({}), tmp_path, landed=None)
    plan = copy._plan(entry(0, 0, 9).ranges)
    assert _without_record(plan, set()) == [("t", 0)]
    assert _without_record(plan, {("t", 0)}) == []


def test_partitions_that_come_while_the_job_runs_are_made_on_the_target(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.jobs.replicate.read_map", lambda _settings, begin: ([], begin))
    target = FakeTarget({})
    copy = copy_to(target, tmp_path, landed=None)
    copy._plan([Range(topic="t", partition=0, begin=0, until=9)])
    assert target.prepared is None
    copy._plan([Range(topic="t", partition=2, begin=0, until=9)])
    assert target.prepared == {"t": 3}


def test_old_entries_of_the_ledger_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.jobs.replicate.KEPT_ENTRIES", 3)
    copy = copy_to(FakeTarget({}), tmp_path, landed=None)
    for at in range(5):
        (copy.places.staging / "batch").mkdir(parents=True)
        copy._publish(entry(at, at, at + 1, files=[], landed=Totals(batches=1)), at)
    assert copy.ledger.batches() == [2, 3, 4]
    assert copy.run.batches == 5


def test_the_sentence_of_a_worker_is_found_in_what_comes_back_through_the_jvm() -> None:
    report = (
        "[PYTHON_EXCEPTION] Job aborted: Traceback (most recent call last):\n"
        "pipeline.errors.TargetError: there-0: refused; do this\n\n\tat org.apache"
    )
    found = REFUSED.search(report)
    assert found is not None
    assert found[1] == "there-0: refused; do this"
