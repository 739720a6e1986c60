"""The ledger: one rename lands a batch, and every contradiction is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from pipeline.errors import LedgerError
from pipeline.ledger import ENTRY, Entry, Ledger, Merged, Totals, landed_batches
from pipeline.positions import Range
from tests.pipeline.made import QUERY, entry, land, open_ledger


def test_a_new_table_begins_with_batch_0_and_no_positions(tmp_path: Path) -> None:
    ledger = open_ledger(tmp_path)
    assert (ledger.last, ledger.next_batch, ledger.positions, ledger.total) == (None, 0, {}, Totals())


def test_a_published_batch_is_a_folder_with_its_files_and_entry(tmp_path: Path) -> None:
    land(tmp_path, (0, 5))
    folder = tmp_path / "t" / "batch=0000000000"
    assert sorted(path.name for path in folder.iterdir()) == [ENTRY, "part.parquet"]
    assert not (tmp_path / "staged").exists()


def test_the_ledger_is_the_same_when_read_again(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5), (5, 9))
    again = open_ledger(tmp_path)
    assert again.last == ledger.last == entry(1, 5, 9)
    assert (again.next_batch, again.positions, again.total.rows) == (2, {"t": {"0": 9}}, 9)


def test_nothing_lands_where_the_newest_batch_has_vanished_as_below_a_mount_that_has_gone(
    tmp_path: Path,
) -> None:
    ledger = land(tmp_path, (0, 5))
    (tmp_path / "t").rename(tmp_path / "away")
    (tmp_path / "staged").mkdir()
    with pytest.raises(LedgerError, match="the newest batch of the table, has vanished while the job ran"):
        ledger.publish(tmp_path / "staged", entry(1, 5, 9))
    assert not (tmp_path / "t").exists()


def test_nothing_shows_in_the_table_before_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[list[str]] = []
    rename = os.rename

    def look_and_rename(old: Path, new: Path) -> None:
        seen.append([path.name for path in (tmp_path / "t").iterdir()])
        rename(old, new)

    monkeypatch.setattr(os, "rename", look_and_rename)
    land(tmp_path, (0, 5), (5, 9))
    assert seen == [[], ["batch=0000000000"]]


def test_everything_is_synced_before_the_rename_and_the_table_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[str] = []
    fsync, rename = os.fsync, os.rename

    def note_sync(descriptor: int) -> None:
        done.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def note_rename(old: Path, new: Path) -> None:
        done.append("rename")
        rename(old, new)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "rename", note_rename)
    land(tmp_path, (0, 5))
    assert sorted(done[:3]) == [ENTRY, "part.parquet", "staged"]
    assert done[3:] == ["rename", "t"]


def test_a_landed_batch_of_a_checkpoint_is_found(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5), (5, 9), (9, 12))
    assert ledger.find(QUERY, 1) == landed_batches(entry(1, 5, 9))[0]
    assert ledger.find(QUERY, 3) is None
    assert ledger.find("another", 1) is None


def test_batches_of_an_older_checkpoint_are_not_taken_for_those_of_a_new_one(tmp_path: Path) -> None:
    land(tmp_path, (0, 5), (5, 9))
    ledger = land(tmp_path, (9, 12), checkpoint="new", checkpoint_batch=0)
    found = ledger.find("new", 0)
    assert found is not None
    assert (found.batch, found.checkpoint) == (2, "new")
    assert ledger.find("new", 1) is None
    assert ledger.find(QUERY, 1) is None


def test_looking_back_ends_where_old_batches_were_removed(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5), (5, 9), (9, 12))
    for path in sorted((tmp_path / "t" / "batch=0000000000").iterdir()):
        path.unlink()
    (tmp_path / "t" / "batch=0000000000").rmdir()
    assert ledger.find(QUERY, 0) is None
    assert open_ledger(tmp_path).positions == {"t": {"0": 12}}


@pytest.mark.parametrize(
    ("begin", "effect"), [(7, "leave out offsets 5 to 6"), (3, "land again offsets 3 to 4")]
)
def test_a_batch_that_does_not_begin_where_the_table_ends_is_refused(
    tmp_path: Path, begin: int, effect: str
) -> None:
    ledger = land(tmp_path, (0, 5))
    with pytest.raises(LedgerError, match=f"t-0: the next batch begins at offset {begin}.*{effect}"):
        ledger.check_continues([Range(topic="t", partition=0, begin=begin, until=10)])


def test_a_partition_the_table_has_never_seen_may_begin_anywhere(tmp_path: Path) -> None:
    land(tmp_path, (0, 5)).check_continues(
        [Range(topic="t", partition=0, begin=5, until=6), Range(topic="t", partition=1, begin=40, until=41)]
    )


def test_a_folder_in_the_place_of_the_next_batch_is_refused(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5))
    (tmp_path / "t" / "batch=0000000001").mkdir()
    (tmp_path / "staged").mkdir()
    with pytest.raises(LedgerError, match="exists, but the ledger does not know it"):
        ledger.publish(tmp_path / "staged", entry(1, 5, 9))


def test_a_batch_without_its_entry_is_refused(tmp_path: Path) -> None:
    land(tmp_path, (0, 5))
    (tmp_path / "t" / "batch=0000000000" / ENTRY).unlink()
    with pytest.raises(LedgerError, match=r"_landed\.json cannot be read: .*No such file"):
        open_ledger(tmp_path)


def test_a_damaged_entry_is_refused(tmp_path: Path) -> None:
    land(tmp_path, (0, 5))
    (tmp_path / "t" / "batch=0000000000" / ENTRY).write_text('{"job": 5}')
    with pytest.raises(LedgerError, match=r"_landed\.json cannot be read"):
        open_ledger(tmp_path)


def test_an_entry_of_a_later_format_is_refused(tmp_path: Path) -> None:
    land(tmp_path, (0, 5), format=3)
    with pytest.raises(LedgerError, match="has format 3, and this version of kawal knows those up to 2"):
        open_ledger(tmp_path)


def test_the_table_of_another_job_is_refused(tmp_path: Path) -> None:
    land(tmp_path, (0, 5))
    with pytest.raises(LedgerError, match="was landed by the job 'land-t', not by 'land-u'"):
        open_ledger(tmp_path, "land-u")


def test_a_folder_that_holds_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "mine.csv").write_text("a,b")
    with pytest.raises(LedgerError, match=r"holds mine\.csv, which no land job put there"):
        open_ledger(tmp_path)


def test_totals_add_up_count_by_count() -> None:
    one = Totals(batches=1, offsets=9, rows=7, bad=2, files=3, size_bytes=10, payload_bytes=20)
    assert one.plus(one) == Totals(
        batches=2, offsets=18, rows=14, bad=4, files=6, size_bytes=20, payload_bytes=40
    )


def test_a_batch_that_was_merged_into_another_is_found(tmp_path: Path) -> None:
    ranges = [Range(topic="t", partition=0, begin=0, until=5)]
    merged = [
        Merged(batch=number, checkpoint=QUERY, checkpoint_batch=number, ranges=ranges) for number in (0, 1)
    ]
    ledger = land(tmp_path, (0, 5))
    (tmp_path / "staged").mkdir()
    ledger.publish(tmp_path / "staged", entry(1, 5, 9, merged=merged, kind="compacted"))
    assert ledger.find(QUERY, 0) == merged[0]


def test_an_entry_of_format_1_is_read_and_knows_no_topics(tmp_path: Path) -> None:
    land(tmp_path, (0, 5))
    path = tmp_path / "t" / "batch=0000000000" / ENTRY
    old = json.loads(path.read_text())
    for name in ("kind", "topics", "table", "newest_ms", "reset", "merged"):
        del old[name]
    path.write_text(json.dumps({**old, "format": 1}))
    last = open_ledger(tmp_path).last
    assert isinstance(last, Entry)
    assert (last.format, last.topics, last.table, last.positions) == (1, {}, None, {"t": {"0": 5}})


def test_a_changed_batch_column_is_named(tmp_path: Path) -> None:
    land(tmp_path, (0, 5))
    with pytest.raises(LedgerError, match=r"was landed with sink\.batch_column = 'batch', not 'part'"):
        Ledger(tmp_path / "t", job="land-t", batch_column="part")


def test_a_new_batch_does_not_list_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each batch listed all batches before it, and opened the table's log, to find that it is new."""
    ledger = land(tmp_path, (0, 5), (5, 9))
    monkeypatch.setattr(ledger, "batches", lambda: pytest.fail("the table was listed"))
    assert ledger.find(QUERY, 2) is None
    assert ledger.find("another", 0) is None
    assert ledger.find(QUERY, 1) == landed_batches(entry(1, 5, 9))[0]
