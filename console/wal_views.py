"""The output of `kawal wal` about segments, frames and entries: trees for programs, lines for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

from wal.format import COPIES_BIT, Entry, EntryKind
from wal.inspect import Damage, FrameView, LogReport, SegmentReport

Tree = dict[str, Any]


def json_line(tree: Tree) -> str:
    """Return a tree on one line."""
    return json.dumps(tree, separators=(", ", ": "))


def moment(time_ms: int) -> str:
    """Return milliseconds since 1970 as a time in UTC, the number itself where it is not a time."""
    try:
        return (
            datetime.fromtimestamp(time_ms / 1000, UTC)
            .isoformat(timespec="milliseconds")
            .replace("+00:00", "Z")
        )
    except (ValueError, OverflowError, OSError):
        return str(time_ms)


def frame_tree(frame: FrameView, *, entries: bool) -> Tree:
    """Return a frame, with its entries when asked."""
    header = frame.header
    tree: Tree = {
        "position": frame.position,
        "kind": frame.kind,
        "sequence": header.sequence,
        "durable_sequence": header.durable_sequence,
        "base_version": header.base_version,
        "entries": header.entry_count,
        "records": header.record_count,
        "size_bytes": header.size_bytes,
        "ingest_ms": header.ingest_ms,
    }
    if entries:
        tree["entry_list"] = [entry_tree(entry) for entry in frame.entries]
    return tree


def entry_tree(entry: Entry) -> Tree:
    """Return one entry: a batch of a stream, or a change that is no record."""
    return {
        "stream_id": entry.stream_id,
        "kind": _entry_kind(entry.kind),
        "base_offset": entry.base_offset,
        "records": entry.record_count,
        "size_bytes": entry.size_bytes,
        "max_timestamp_ms": entry.max_timestamp,
        "leader_epoch": entry.leader_epoch,
        "crc": f"{entry.crc:#010x}",
    }


def _entry_kind(kind: int) -> str:
    return EntryKind(kind).name.lower() if kind in set(EntryKind) else str(kind)


FRAME_HEADINGS = (
    f"{'POSITION':>12}  {'KIND':<6}  {'SEQUENCE':>10}  {'VERSION':>12}  ENTRIES  RECORDS      BYTES  TIME"
)


def frame_line(frame: FrameView) -> str:
    """Return a frame under `FRAME_HEADINGS`."""
    header = frame.header
    return (
        f"{frame.position:>12}  {frame.kind:<6}  {header.sequence:>10}  {header.base_version:>12}  "
        f"{header.entry_count:>7}  {header.record_count:>7}  {header.size_bytes:>9}  "
        f"{moment(header.ingest_ms)}"
    )


def entry_line(entry: Entry) -> str:
    """Return an entry as a line under its frame."""
    # The number of a stream of copies, without the bit that says that it is one.
    what = f"{'':>14}stream {entry.stream_id & ~COPIES_BIT} {_entry_kind(entry.kind)}"
    if entry.kind == EntryKind.META:
        return f"{what}: {entry.size_bytes} bytes"
    last = entry.base_offset + entry.record_count - 1
    time = moment(entry.max_timestamp)
    return f"{what}: offsets {entry.base_offset} to {last}, {entry.size_bytes} bytes, up to {time}"


def summary_tree(path: str, frames: Iterable[FrameView]) -> Tree:
    """Return what the frames of a segment add up to, without reading the records."""
    tree: Tree = {"segment": path, "frames": 0, "entries": 0, "records": 0, "frame_bytes": 0}
    streams: set[int] = set()
    for frame in frames:
        header = frame.header
        tree["frames"] += 1
        tree["entries"] += header.entry_count if frame.kind == "data" else 0
        tree["records"] += header.record_count
        tree["frame_bytes"] += header.size_bytes
        tree.setdefault("first_sequence", header.sequence)
        tree.setdefault("first_ms", header.ingest_ms)
        tree |= {"last_sequence": header.sequence, "last_ms": header.ingest_ms}
        streams.update(entry.stream_id for entry in frame.entries)
    tree["streams"] = len(streams)
    return tree


def summary_line(tree: Tree) -> str:
    """Return the summary of a segment on one line."""
    if not tree["frames"]:
        return f"{tree['segment']}: no frames"
    frames = f"frames {tree['first_sequence']} to {tree['last_sequence']}"
    amount = f"{tree['records']} records of {tree['streams']} streams, {tree['frame_bytes']} bytes"
    return f"{tree['segment']}: {frames}, {amount}, {moment(tree['first_ms'])} to {moment(tree['last_ms'])}"


def segment_tree(report: SegmentReport) -> Tree:
    """Return a segment that was checked."""
    header = report.header
    return {
        "segment": report.path,
        "good": not report.damages,
        "base_version": None if header is None else header.base_version,
        "base_sequence": None if header is None else header.base_sequence,
        "next_sequence": report.next_sequence,
        "created_ms": None if header is None else header.created_ms,
        "size_bytes": report.size_bytes,
        "end_position": report.end_position,
        "frames": report.frames,
        "lost_frames": report.lost_frames,
        "entries": report.entries,
        "records": report.records,
        "payload_bytes": report.payload_bytes,
        "sealed": report.sealed,
        "tail": report.tail,
        "index": report.index,
        "note": report.note,
        "damages": [damage_tree(damage) for damage in report.damages],
    }


def segment_line(report: SegmentReport) -> str:
    """Return a checked segment on one line."""
    kinds = ", ".join(f"{count} {kind}" for kind, count in report.frames.items()) or "none"
    verdict = "damaged" if report.damages else "good"
    state = f"sealed, index {report.index}" if report.sealed else report.tail or "open"
    return (
        f"{report.path}: {verdict}; frames: {kinds}; {report.records} records, "
        f"{report.payload_bytes} bytes; {state}"
    )


def log_tree(report: LogReport) -> Tree:
    """Return a log that was checked, without its segments."""
    return {
        "log": report.directory,
        "good": report.is_good,
        "segments": len(report.segments),
        "witnessed_sequence": report.witnessed_sequence,
        "notes": report.notes,
        "damages": [damage_tree(damage) for damage in report.damages],
    }


def log_line(report: LogReport) -> str:
    """Return a checked log on one line."""
    verdict = "good" if report.is_good else "damaged"
    plural = "" if len(report.segments) == 1 else "s"
    synced = f"frames below {report.witnessed_sequence} are known to be synced"
    return f"{report.directory}: {verdict}; {len(report.segments)} segment{plural}; {synced}"


def damage_tree(damage: Damage) -> Tree:
    """Return a piece of damage with the bytes it covers."""
    return damage._asdict()
