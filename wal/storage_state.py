"""The storage of a log at work, from memory: what `kawal wal describe` finds in its files.

It is a tree for programs. A mark is a checkpoint; sequences count frames.
"""

from __future__ import annotations

from collections import Counter
from typing import Any, Final

from wal.log import VnodeLog
from wal.segment import Segment, segment_name
from wal.state import LogState
from wal.storage_report import Role

FILES_MAX: Final = 100
"""The most files named: a log may have thousands, and the newest ones change most."""


def storage_version(log: VnodeLog) -> tuple[int, ...]:
    """Return numbers that change with each checkpoint, and with the files of the log."""
    state, maintenance = log.storage
    return maintenance.generation, len(state.segments.all), log.first_version, len(state.retired_bases)


def storage_state(log: VnodeLog) -> dict[str, Any]:
    """Return the journal, the memory, the marks and the files."""
    state, maintenance = log.storage
    older_mark, mark = maintenance.mark_sequences
    roles = [(segment, _role(segment, state, older_mark, mark)) for segment in state.segments.all]
    counts = Counter(role for _, role in roles)
    allowed = [segment for segment, role in roles if role in (Role.DATA, Role.RETIRED)]
    return {
        "journal": {
            "next_sequence": state.next_sequence,
            "synced_below": state.durable_sequence,
            "frames_after_mark": max(0, state.next_sequence - mark),
            "next_version": state.written_version,
        },
        "memory": {
            "open_frame_bytes": sum(frame.size_bytes for frame in state.pending),
            "tail_cache_bytes": state.tail.size_bytes,
            "index_cache_bytes": state.index_cache.size_bytes,
            "streams": len(state.streams),
        },
        "mark": {"generation": maintenance.generation - 1, "sequence": mark, "older_sequence": older_mark},
        "segments": {
            "count": len(roles),
            "size_bytes": sum(segment.end_position for segment, _ in roles),
            "kept_for": {role.value: counts[role] for role in Role},
            "marks_let_go": [segment_name(segment.base_version) for segment in allowed[:FILES_MAX]],
            "unindexed": sum(segment.sealed and not segment.index_stored for segment, _ in roles),
        },
    }


def _role(segment: Segment, state: LogState, older_mark: int, mark: int) -> Role:
    if segment.retired or segment.base_version in state.retired_bases:
        return Role.RETIRED
    if segment.next_sequence > mark or segment is state.active:
        return Role.REPLAYED
    return Role.OLDER_MARK if segment.next_sequence > older_mark else Role.DATA
