"""The lines and the tree of `kawal wal describe`."""

from __future__ import annotations

from console.wal_describe import KEPT_FOR, describe_lines, describe_tree
from wal.storage_report import Role, SegmentState, StorageReport


def test_every_reason_to_keep_a_file_has_words() -> None:
    assert set(KEPT_FOR) == set(Role)


def test_an_empty_log_has_no_mark_and_no_segments() -> None:
    report = StorageReport("d")
    assert next(describe_lines(report)) == "d"
    assert "none yet" in list(describe_lines(report))[2]
    assert describe_tree(report)["segments"] == []


def test_a_segment_is_a_line_and_problems_come_last() -> None:
    report = StorageReport("d", mark_sequence=4, mark_generation=2, older_mark_sequence=2, problems=["odd"])
    report.segments = [
        SegmentState("d/1.wal", 0, 3, 2_048, Role.OLDER_MARK, "sealed", 100),
        SegmentState("d/2.wal", 3, 3, 1_024, Role.REPLAYED, "memory", 0),
    ]
    lines = list(describe_lines(report))
    assert "frame 4, generation 2" in lines[2]
    assert lines[4].split() == ["1.wal", "0-2", "2048", "sealed", "100", "the", "older", "mark"]
    assert lines[5].split()[1] == "-"
    assert lines[-1] == "  problem: odd"
    assert describe_tree(report)["index_bytes"] == 100
