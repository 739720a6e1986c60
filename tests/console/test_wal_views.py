"""The printed form of segments, frames and entries."""

import json
from pathlib import Path

from console.wal_views import (
    entry_line,
    frame_line,
    frame_tree,
    json_line,
    log_line,
    log_tree,
    moment,
    segment_line,
    segment_tree,
    summary_line,
    summary_tree,
)
from tests.console.stored import segment_of, spoil
from wal.disk import OsDisk
from wal.format import COPIES_BIT, Entry, EntryKind
from wal.inspect import FrameView, LogReport, SegmentReport, frames, verify_log


def frames_of(data: Path) -> list[FrameView]:
    return list(frames(OsDisk(), str(segment_of(data))))


def verified(data: Path) -> tuple[SegmentReport, LogReport]:
    segment, log = verify_log(OsDisk(), str(segment_of(data).parent))
    assert isinstance(segment, SegmentReport)
    assert isinstance(log, LogReport)
    return segment, log


def test_times_are_utc_and_nonsense_is_shown_as_it_is() -> None:
    assert moment(86_400_123) == "1970-01-02T00:00:00.123Z"
    assert moment(-(2**63)) == str(-(2**63))


def test_a_frame_is_a_line_and_a_tree(data: Path) -> None:
    first = frames_of(data)[0]
    assert frame_line(first).split()[:6] == ["1024", "data", "0", "0", "2", "4"]
    tree = frame_tree(first, entries=True)
    assert (tree["kind"], tree["records"], tree["position"]) == ("data", 4, 1024)
    assert tree["entry_list"][0]["stream_id"] == 7
    assert "entry_list" not in frame_tree(first, entries=False)
    assert json.loads(json_line(tree)) == tree


def test_copies_that_compaction_made_are_told_apart() -> None:
    copy = Entry(COPIES_BIT | 40, EntryKind.COPY, 0, 0, 7, 2, 100, 1_000, 0, 0)
    assert entry_line(copy).split()[:6] == ["stream", "40", "copy:", "offsets", "7", "to"]


def test_entries_tell_their_offsets_and_changes_have_none(data: Path) -> None:
    first = frames_of(data)[0]
    batch, change = map(entry_line, first.entries)
    assert "stream 7 data: offsets 0 to 2, " in batch
    assert batch.endswith("up to 1970-01-02T00:00:00.000Z")
    assert change.endswith("stream 7 meta: 5 bytes")


def test_a_segment_is_summed_up_from_its_heads(data: Path) -> None:
    tree = summary_tree("x.wal", frames_of(data))
    assert (tree["records"], tree["streams"], tree["entries"], tree["first_sequence"]) == (6, 1, 4, 0)
    assert summary_line(tree).startswith("x.wal: frames 0 to ")
    assert summary_line(summary_tree("x.wal", [])) == "x.wal: no frames"


def test_a_checked_log_is_told_in_lines_and_trees(data: Path) -> None:
    segment, log = verified(data)
    assert ": good; frames: 2 data" in segment_line(segment)
    assert log_line(log).endswith("are known to be synced")
    assert json.loads(json_line(segment_tree(segment)))["good"]
    assert json.loads(json_line(log_tree(log)))["good"]


def test_damage_is_told_with_file_and_bytes(data: Path) -> None:
    spoil(data)
    segment, log = verified(data)
    assert ": damaged; " in segment_line(segment)
    assert ": damaged; 1 segment; " in log_line(log)
    damage = segment_tree(segment)["damages"][0]
    assert (damage["file"], damage["start"]) == (str(segment_of(data)), 1024)
    assert not log_tree(log)["good"]
