"""The options of one vnode's log: sizes in bytes, times in milliseconds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

KIB = 1 << 10
MIB = 1 << 20


Durability = Literal["disk", "os", "remote"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOptions:
    """The options of a `VnodeLog`; the defaults are those of an ordinary vnode."""

    vnode_id: int = 0
    identity: bytes = b""
    """Part of the salts, so that this store's files differ from another store's."""
    wall_offset_ms: int = 0
    """The lead of the wall clock over `now_ms` at the start; frames carry wall clock times."""
    durability: Durability = "disk"
    """`disk`: visible and acknowledged once synced. `os`: once written; synced every `flush_ms`.
    `remote`: once synced and in an object store, too, of which the caller tells (wal/unstored.py)."""
    segment_bytes: int = 64 * MIB
    segment_extents_max: int = 1 << 18
    """A segment is closed with the frame by which its index has this many extents: they take 13 MB of memory
    while it grows, and 160 bytes more for each stream. Batches of 70 bytes would be 560,000 in a segment of
    64 MiB. It bounds the work of a start, too, and the memory of a loaded index, 12 MB."""
    segment_ms: int = -1
    """Age at which the next append closes the active segment, by the time of day; -1: size alone does."""
    frame_bytes_max: int = 8 * MIB
    """A frame takes no further batch beyond this; one larger batch makes a frame of its own."""
    frame_entries_max: int = 500
    """A frame takes no further batch or change beyond this number: what follows from its commit, 2 to 4 µs
    for each entry, is done in one go."""
    tail_cache_bytes: int = 32 * MIB
    index_cache_bytes: int = 16 * MIB
    """The memory for indexes of sealed segments."""
    seal_idle_ms: int = 100
    seal_interval_ms: int = 1_000
    """At most one seal in this time: each takes a block of 4 KiB and a sync."""
    witness_ms: int = 1_000
    flush_ms: int = 50
    checkpoint_ns: int = 800_000_000
    """Write a checkpoint once recovery would take this long without it, by `recovery_ns`."""
    min_free_bytes: int = 64 * MIB
    """With less free space than this, ordinary appends are refused with DiskFull."""
    reserve_bytes: int = 0
    """Room kept in a file of its own for records of deletions and for checkpoints on a full disk; 0: none."""
    delete_delay_ms: int = 60_000
    """A deleted segment's file stays as `*.deleted` this long: time to restore it by hand."""
    torn_copy_bytes: int = MIB
    """The most that is copied aside of a torn tail before it is cut."""
    scrub_bytes_per_second: int = 10_000_000
    """The speed at which sealed segments are read again to find damage; 0: not at all."""
    scrub_pass_ms: int = 86_400_000
    """A pass over all segments begins at most this often."""
    producer_expiry_ms: int = 86_400_000
    producers_per_stream_max: int = 10_000
    """The most idempotent producers remembered for a stream; beyond it, the one idle longest is forgotten."""
    producers_bytes_max: int = 1 << 62
    """The memory for the producers of all streams; beyond it, those idle for long are forgotten."""
    aborted_bytes_max: int = 1 << 62
    """The memory for aborted transactions, 32 bytes each; beyond it `VnodeLog.has_aborted_room` is false."""
    named_bytes_max: int = 1 << 62
    """The memory for the named producers of all streams; see `NamedProducers.has_room`."""


FRAME_NS = 30_000
ENTRY_NS = 8_000
"""The time that recovery takes for a frame, and for an entry (measured: 3 to 9 µs, by producer id)."""


def recovery_ns(*, frames: int, entries: int, size_bytes: int) -> int:
    """Return about how long recovery takes for so much after a checkpoint; a byte takes 1 ns."""
    return frames * FRAME_NS + entries * ENTRY_NS + size_bytes
