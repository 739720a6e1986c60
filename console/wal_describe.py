"""The output of `kawal wal describe`: a tree for programs, lines for people."""

from __future__ import annotations

from collections.abc import Iterator

from console.tables import table
from console.wal_views import Tree
from wal.storage_report import Role, StorageReport

HEADINGS = ["SEGMENT", "FRAMES", "BYTES", "INDEX", "INDEX BYTES", "KEPT FOR"]

KEPT_FOR = {
    Role.REPLAYED: "the next start",
    Role.OLDER_MARK: "the older mark",
    Role.DATA: "its batches",
    Role.RETIRED: "nothing; it goes",
}


def describe_tree(report: StorageReport) -> Tree:
    """Return a log's storage as a tree."""
    return {
        "log": report.directory,
        "journal": {
            "frames_after_mark": report.frames_after_mark,
            "bytes_after_mark": report.bytes_after_mark,
            "next_sequence": report.end_sequence,
            "synced_below": report.witnessed_sequence,
        },
        "mark": {
            "sequence": report.mark_sequence,
            "generation": report.mark_generation,
            "older_sequence": report.older_mark_sequence,
            "clean_stop": report.is_clean,
            "streams": report.streams,
        },
        "index_bytes": report.index_bytes,
        "segments": [
            {
                "path": segment.path,
                "first_sequence": segment.first_sequence,
                "next_sequence": segment.next_sequence,
                "size_bytes": segment.end_position,
                "kept_for": segment.role.value,
                "index": segment.index_state,
                "index_bytes": segment.index_bytes,
            }
            for segment in report.segments
        ],
        "problems": report.problems,
    }


def describe_lines(report: StorageReport) -> Iterator[str]:
    """Yield the lines about a log."""
    yield report.directory
    yield (
        f"  journal: {report.frames_after_mark} frames, {report.bytes_after_mark} bytes since the last mark;"
        f" the next frame is {report.end_sequence}, those below {report.witnessed_sequence} are known to be"
        " synced"
    )
    if report.mark_generation >= 0:
        stop = ", by a clean stop" if report.is_clean else ""
        yield (
            f"  last mark: frame {report.mark_sequence}, generation {report.mark_generation},"
            f" {report.streams} streams{stop}; the older one: frame {report.older_mark_sequence}"
        )
    else:
        yield "  last mark: none yet; a start replays every frame"
    rows: list[list[str | int | None]] = [
        [
            segment.path.rpartition("/")[2],
            f"{segment.first_sequence}-{segment.next_sequence - 1}" if segment.has_frames else "-",
            segment.end_position,
            segment.index_state,
            segment.index_bytes,
            KEPT_FOR[segment.role],
        ]
        for segment in report.segments
    ]
    if rows:
        yield from (f"  {line}" for line in table(HEADINGS, rows).splitlines())
    for problem in report.problems:
        yield f"  problem: {problem}"
