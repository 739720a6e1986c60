"""The answers that transactional clients got, and what those promise to readers of committed data.

    a transaction that was committed     all its records are visible, once, in order; its progress counts
    one whose commit was never asked     none of its records ever is
    one whose commit was not answered    all or none

The last stable offset and the high watermark never go back, whatever crashes.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

from broker.catalogue.topics import Topic
from broker.storage.partition import Partition

Place = tuple[str, int]
"""Topic and partition."""


class Outcome(Enum):
    """The end of a transaction, as far as its client was told."""

    OPEN = "no end was asked for"
    COMMITTING = "a commit was asked for, and not answered"
    COMMITTED = "a commit was acknowledged"
    ABORTED = "an abort was acknowledged, or a commit refused for good"


@dataclass(slots=True, eq=False)
class Attempt:
    """One transaction of one client."""

    name: str
    outcome: Outcome = Outcome.OPEN
    values: list[tuple[Place, bytes]] = field(default_factory=list)
    """The records that were acknowledged."""

    progress: tuple[int, int] | None = None
    """Partition and next offset of the group, if the transaction moves it."""


class History:
    """All that was promised so far."""

    def __init__(self) -> None:
        self.attempts: dict[str, Attempt] = {}
        self.visible: dict[bytes, tuple[Place, int]] = {}
        self.marks: dict[Place, tuple[int, int]] = {}
        self.counts: Counter[str] = Counter()
        self._floor: dict[int, int] = {}

    def begin(self, name: str) -> Attempt:
        """Note that a client begins a transaction."""
        attempt = self.attempts[name] = Attempt(name)
        self.counts["begun"] += 1
        return attempt

    def ends(self, attempt: Attempt, outcome: Outcome) -> None:
        """Note what a client has asked for, or was told."""
        attempt.outcome = outcome
        self.counts[outcome.name.lower()] += 1
        if outcome == Outcome.COMMITTED and attempt.progress is not None:
            index, offset = attempt.progress
            self._floor[index] = max(offset, self._floor.get(index, 0))

    def attempt_of(self, value: bytes) -> Attempt:
        """Return the transaction that wrote a record."""
        return self.attempts[value.split(b":")[0].decode()]

    # --- what readers see -------------------------------------------------------------------------------

    def saw(self, place: Place, offset: int, value: bytes) -> None:
        """Check a record that a reader of committed data was shown."""
        attempt = self.attempt_of(value)
        assert attempt.outcome in (Outcome.COMMITTING, Outcome.COMMITTED), (
            f"{value!r} at {place}/{offset} is visible, but of its transaction: {attempt.outcome.value}"
        )
        known = self.visible.setdefault(value, (place, offset))
        assert known == (place, offset), f"{value!r} is at {known} and at {place}/{offset}"

    def saw_progress(self, index: int, offset: int, metadata: str, *, is_stable: bool) -> None:
        """Check progress that a client was shown."""
        if offset >= 0:
            attempt = self.attempts[metadata]
            assert attempt.outcome in (Outcome.COMMITTING, Outcome.COMMITTED), (
                f"progress {offset} of {metadata} is visible: {attempt.outcome.value}"
            )
            assert attempt.progress == (index, offset), f"{metadata}: {attempt.progress}, {offset} is stored"
        floor = self._floor.get(index, 0)
        assert not is_stable or max(offset, 0) >= floor, f"progress of {index}: {offset} after {floor}"

    def sample(self, topic: Topic, partition: Partition) -> None:
        """Compare a partition's marks with what they were."""
        place = topic.name, partition.index
        stable, high = self.marks.get(place, (0, 0))
        now = partition.last_stable_offset, partition.high_watermark
        assert now[0] <= now[1], f"{place}: {now}"
        assert stable <= now[0], f"{place}: the last stable offset went back from {stable} to {now[0]}"
        assert high <= now[1], f"{place}: the high watermark went back from {high} to {now[1]}"
        self.marks[place] = now

    # --- the end ----------------------------------------------------------------------------------------

    def check_whole(self, found: dict[Place, list[tuple[int, bytes]]]) -> None:
        """Check that transactions are visible as a whole or not at all; `found` is all there is to read."""
        there: dict[bytes, tuple[Place, int]] = {}
        for place, records in found.items():
            for offset, value in records:
                assert value not in there, f"{value!r} is at {there[value]} and at {place}/{offset}"
                there[value] = place, offset
                self.saw(place, offset, value)
        assert self.visible.keys() <= there.keys(), f"lost: {sorted(self.visible.keys() - there.keys())[:5]}"
        for attempt in self.attempts.values():
            shown = [value for _, value in attempt.values if value in there]
            if attempt.outcome == Outcome.COMMITTED:
                assert len(shown) == len(attempt.values), f"{attempt.name} was committed; visible: {shown}"
            elif attempt.outcome == Outcome.COMMITTING:
                assert len(shown) in (0, len(attempt.values)), f"{attempt.name} is torn: {shown}"

    @staticmethod
    def check_copies(index: int, progress: int, source: list[int], copies: list[list[int]]) -> None:
        """Check that what was read of an input partition was written once, in order, as far as its progress.

        `source`: the offsets that readers of it see; `copies`: those found in each output partition.
        """
        for found in copies:
            assert found == sorted(set(found)), f"input {index}: copied twice or out of order: {found}"
        copied = sorted(offset for found in copies for offset in found)
        expected = [offset for offset in source if offset < progress]
        assert copied == expected, f"input {index}: progress {progress}, copied {copied}, expected {expected}"
