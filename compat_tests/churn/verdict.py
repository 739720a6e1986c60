"""The verdict from the notes: nothing is lost, and nothing comes again after it was committed."""

from __future__ import annotations

from bisect import bisect
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from compat_tests.churn.notes import COMMITTED, Note


class Verdict(NamedTuple):
    """The figures of a run in which nothing was wrong."""

    records: int
    deliveries: int
    lives: int
    commits: int

    def __str__(self) -> str:
        again = self.deliveries - self.records
        return (
            f"{self.records} records came {self.deliveries} times to {self.lives} lives ({again} again, none"
            f" of them committed before), {self.commits} commits"
        )


def judge(notes: Iterable[Note], ends: dict[int, int]) -> Verdict:
    """Check the notes of all workers; `ends` has the records written to each partition.

    Raises: AssertionError.
    """
    by_partition: dict[int, list[Note]] = defaultdict(list)
    lives: set[str] = set()
    for note in sorted(notes):
        by_partition[note.partition].append(note)
        lives.add(note.life)
    deliveries = commits = 0
    for partition, end in ends.items():
        found = by_partition[partition]
        deliveries += check_partition(partition, end, found)
        commits += sum(note.what == COMMITTED for note in found)
    return Verdict(sum(ends.values()), deliveries, len(lives), commits)


def story(notes: list[Note], end: Note) -> str:
    """Tell the last notes before one, and the first of its life, to see what its member may have known."""
    before = notes[: notes.index(end)]
    of_life = [note for note in before if note.life == end.life][:2]
    return "; ".join(
        f"{note.moment:.3f} {note.life} {note.what} {note.first}-{note.last}"
        for note in of_life + before[-8:]
    )


def check_partition(partition: int, end: int, notes: list[Note]) -> int:
    """Check one partition; return how often its records came."""
    seen = bytearray(end)
    deliveries = 0
    next_of: dict[str, int] = {}
    moments: list[float] = []
    commits = [(0, "")]
    """The largest commit, and whose it is, before the first of these moments, and from each on."""
    for note in notes:
        if note.what == COMMITTED:
            moments.append(note.moment)
            commits.append(max(commits[-1], (note.first, note.life), key=lambda commit: commit[0]))
            continue
        deliveries += note.last + 1 - note.first
        seen[note.first : note.last + 1] = b"\x01" * (note.last + 1 - note.first)
        # A member that goes on in its own life may have been thrown out without knowing it yet; its commits
        # are refused. But a member that begins, begins at what others have committed before it asked; its own
        # last commit may have been tried again until after it had asked. A busy machine may stop a member for
        # longer than its session between its question and this note.
        committed, by = commits[bisect(moments, note.since)]
        begins = next_of.get(note.life) != note.first and by != note.life
        assert not begins or note.first >= committed, (
            f"partition {partition}: {note.life} began at {note.first} at {note.moment}, and had asked"
            f" where after {note.since}, when {by} had committed {committed}; before it: {story(notes, note)}"
        )
        next_of[note.life] = note.last + 1
    missing = seen.count(0)
    assert not missing, (
        f"partition {partition}: {missing} of {end} records came to no member, {seen.find(0)} first"
    )
    return deliveries
