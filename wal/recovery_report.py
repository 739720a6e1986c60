"""The findings of a recovery: a report for people, and the damage for a repair."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple

from wal.errors import LogDamaged


class FaultKind(Enum):
    """The kind of thing that is damaged."""

    FRAMES = "frames"
    """Bytes inside a segment."""
    FILE = "file"
    """A file that is no segment of this log, or not in this place."""
    GAP = "gap"
    """The frames before this segment are missing."""
    SEGMENT = "segment"
    """A segment that the checkpoint lists is missing."""
    END = "end"
    """The newest frames are missing, with their file."""


class Fault(NamedTuple):
    """A damage, with the facts that a repair needs."""

    kind: FaultKind
    path: str
    position: int
    due: int
    """The first sequence that is missing."""
    next_sequence: int
    """The first sequence after it that is there, as far as is known."""
    base_version: int
    end_position: int | None = None
    """The start of the next valid frame of the segment, if there is one."""


class Unproven(NamedTuple):
    """A frame that no later one declares synced."""

    sequence: int
    kind: int
    position: int
    size_bytes: int


@dataclass(slots=True)
class RecoveryReport:
    """The findings and actions of a recovery."""

    frames: int = 0
    """The number of frames read after the checkpoint."""
    entries: int = 0
    scanned_bytes: int = 0
    truncated_bytes: int = 0
    torn_file: str = ""
    """The path of the copy of the torn tail."""
    last_wall_ms: int = 0
    """The time of day at which the newest scanned frame was written; 0 when none was scanned."""
    clean: bool = False
    """Whether the log ends where a clean stop left it."""
    is_new: bool = False
    """Whether nothing was ever written to the log."""
    damage: LogDamaged | None = None
    notes: list[str] = field(default_factory=list)
    """Harmless oddities: an invalid checkpoint, leftovers removed."""
