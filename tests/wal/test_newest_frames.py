"""Tests of wal/newest_frames.py."""

from __future__ import annotations

from wal.newest_frames import FRAMES_MAX, STREAMS_MAX, NewestFrame, NewestFrames


def test_frames_are_known_from_the_first_on() -> None:
    frames = NewestFrames()
    assert frames.since(0) is None
    frames.add(5, 7, [1, 2], [])
    frames.add(7, 8, [], [3])
    assert frames.since(4) is None
    assert frames.since(5) == [NewestFrame(7, (1, 2), ()), NewestFrame(8, (), (3,))]
    assert frames.since(7) == [NewestFrame(8, (), (3,))]
    assert frames.since(8) == []


def test_a_version_within_a_frame_has_that_frame() -> None:
    frames = NewestFrames()
    frames.add(0, 9, [1], [])
    assert frames.since(4) == [NewestFrame(9, (1,), ())]


def test_the_oldest_of_very_many_frames_are_forgotten() -> None:
    frames = NewestFrames()
    for version in range(FRAMES_MAX + 3):
        frames.add(version, version + 1, [1], [])
    assert frames.since(2) is None
    assert len(frames.since(3) or []) == FRAMES_MAX


def test_a_frame_of_very_many_streams_and_those_before_it_are_not_kept() -> None:
    frames = NewestFrames()
    frames.add(0, 1, [1], [])
    frames.add(1, 100, range(STREAMS_MAX), [1])
    assert frames.since(0) is None
    assert frames.since(1) is None
    frames.add(100, 101, [7], [])
    assert frames.since(100) == [NewestFrame(101, (7,), ())]
