"""A segment continues the log only where its header says so."""

from __future__ import annotations

import pytest

from wal.continuity import Due
from wal.format import SegmentHeader

DUE = Due(base_version=50, vnode_id=3, sequence=10, crc=0xAB, replay_from=0)


def header(**changes: int) -> SegmentHeader:
    values = {"vnode_id": 3, "base_version": 50, "base_sequence": 10, "salt": 1, "previous_crc": 0xAB}
    return SegmentHeader(**{**values, "created_ms": 0, **changes})


def test_the_segment_that_is_due_has_no_problem() -> None:
    assert DUE.problem(header()) == ""


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        (None, "both copies of the segment header"),
        (header(base_version=51), "holds the segment of version 51: it was renamed or copied"),
        (header(vnode_id=4), "belongs to vnode 4, but this is vnode 3"),
        (header(base_sequence=12), "begins with frame 12, but frame 10 is due: a segment is missing"),
        (header(previous_crc=1), "repeats crc 0x00000001 of its predecessor, which has 0x000000ab"),
    ],
)
def test_any_other_is_named(found: SegmentHeader | None, problem: str) -> None:
    assert problem in DUE.problem(found)


def test_below_the_checkpoint_segments_may_have_been_retired_in_between() -> None:
    known_by_checkpoint = DUE._replace(sequence=None, replay_from=20)
    assert known_by_checkpoint.problem(header(base_sequence=15, previous_crc=9)) == ""
    assert "frame 20 is due before it" in known_by_checkpoint.problem(header(base_sequence=21))


def test_after_frames_that_a_repair_gave_up_any_crc_is_right() -> None:
    assert DUE._replace(crc=None).problem(header(previous_crc=77)) == ""
