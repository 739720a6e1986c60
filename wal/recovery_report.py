"""What a recovery found: a report for people, and the damage as a repair needs to know it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from wal.errors import LogDamaged


class FaultKind(Enum):
    """What kind of thing is damaged."""

    FRAMES = "frames"
    """Bytes inside a segment."""
    FILE = "file"
    """A file that is no segment of this log, or not in this place."""
    GAP = "gap"
    """The frames before this segment are missing."""
    SEGMENT = "segment"
    """A segment that the checkpoint knows is missing."""
    END = "end"
    """The newest frames are missing, with their file."""


class Fault(NamedTuple):
    """A damage, as a repair needs to know it."""

    kind: FaultKind
    path: str
    position: int
    due: int
    """The first sequence that is missing."""
    next_sequence: int
    """The first one that is there again, as far as is known."""
    base_version: int
    end_position: int | None = None
    """Where the next valid frame of the segment begins, if there is one."""


@dataclass(slots=True)
class RecoveryReport:
    """What recovery found and did."""

    frames: int = 0
    """Frames read behind the checkpoint."""
    entries: int = 0
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    torn_file: str = ""
    """Where a copy of the torn tail lies."""
    clean: bool = False
    """The log ends where a clean stop left it."""
    damage: LogDamaged | None = None
    notes: list[str] = field(default_factory=list)
    """Odd things that cost nothing: a checkpoint that was not valid, leftovers removed."""
