"""The output of a run: lines for people, or one JSON object per line for programs (`--log json`).

People see progress on standard error and the summary on standard output; JSON goes to standard output. The
field `event` names the kind: note, batch, progress, summary, error.
"""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any, Protocol, TextIO

import msgspec

from pipeline.ledger import Entry
from pipeline.progress import Progress, Summary

UNITS = ("B", "kB", "MB", "GB", "TB")


class Report(Protocol):
    """The interface by which a run reports."""

    def note(self, sentence: str) -> None:
        """Report something that happens once."""

    def batch(self, entry: Entry) -> None:
        """Report that a batch has landed."""

    def progress(self, progress: Progress) -> None:
        """Report the progress of the run."""

    def summary(self, summary: Summary) -> None:
        """Report the end of the run."""


class TextReport:
    """Lines for people."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out = out
        self._err = err

    def note(self, sentence: str) -> None:
        """Print something that happens once."""
        print(sentence, file=self._err, flush=True)

    def batch(self, entry: Entry) -> None:
        """Print nothing: a batch every second would bury the progress lines."""

    def progress(self, progress: Progress) -> None:
        """Print one line."""
        print(progress_line(progress), file=self._err, flush=True)

    def summary(self, summary: Summary) -> None:
        """Print a few lines."""
        print("\n".join(summary_lines(summary)), file=self._out, flush=True)


class JsonReport:
    """One JSON object per line."""

    def __init__(self, out: TextIO) -> None:
        self._out = out

    def note(self, sentence: str) -> None:
        """Write the event `note`."""
        self._write("note", {"text": sentence})

    def batch(self, entry: Entry) -> None:
        """Write the event `batch`: the ledger entry without its files and positions."""
        counts = msgspec.to_builtins(entry.landed)
        ranges = msgspec.to_builtins(entry.ranges)
        self._write("batch", {"job": entry.job, "batch": entry.batch, **counts, "ranges": ranges})

    def progress(self, progress: Progress) -> None:
        """Write the event `progress`."""
        self._write("progress", asdict(progress))

    def summary(self, summary: Summary) -> None:
        """Write the event `summary`: counts of the run, and those of the table under `total`."""
        fields = asdict(summary)
        fields |= msgspec.to_builtins(fields.pop("run"))
        fields["total"] = msgspec.to_builtins(fields["total"])
        self._write("summary", fields)

    def error(self, sentence: str, exit_code: int) -> None:
        """Write the event `error`."""
        self._write("error", {"text": sentence, "exit_code": exit_code})

    def _write(self, event: str, fields: dict[str, Any]) -> None:
        print(msgspec.json.encode({"event": event, **fields}).decode(), file=self._out, flush=True)


def progress_line(progress: Progress) -> str:
    """Return the progress as one line."""
    rate = f"{progress.rows_per_second:,.0f} rows/s"
    if progress.bytes_per_second:
        rate += f" {size(progress.bytes_per_second)}/s"
    parts = [
        f"{progress.batches:,} batches",
        f"{progress.rows:,} rows",
        rate,
        f"lag {progress.lag:,}{_behind(progress)}",
        f"late {progress.late:,} bad {progress.bad:,}",
        _left(progress.seconds_left),
        _away(progress.away_since_ms),
    ]
    return f"{progress.job}  " + " | ".join(part for part in parts if part)


def summary_lines(summary: Summary) -> list[str]:
    """Return the summary as lines."""
    run = summary.run
    rate = run.rows / summary.elapsed_seconds if summary.elapsed_seconds else 0.0
    late = f"; {run.late:,} came late" if run.late else ""
    bad = f", in {summary.quarantine}" if run.bad and summary.quarantine else ""
    lines = [
        f"{summary.job}: {summary.outcome}",
        f"  rows     {run.rows:,} landed, {summary.total.rows:,} in the table{late}",
        f"  bad      {run.bad:,}{bad}",
        f"  bytes    {size(run.payload_bytes)} of records in {size(run.size_bytes)} of Parquet",
        f"  batches  {run.batches:,} with {run.files:,} files",
        f"  elapsed  {summary.elapsed_seconds:.1f} s, {rate:,.0f} rows/s",
        f"  table    {summary.table}",
    ]
    if summary.target:
        lines = [
            f"{summary.job}: {summary.outcome}",
            f"  records  {run.rows:,} copied, {summary.total.rows:,} in all",
            f"  bytes    {size(run.payload_bytes)}",
            f"  batches  {run.batches:,}",
            f"  elapsed  {summary.elapsed_seconds:.1f} s, {rate:,.0f} records/s",
            f"  target   {summary.target}",
        ]
    empty = run.offsets - run.rows - run.bad
    if empty:
        lines.insert(
            3,
            f"  empty    {empty:,} offsets without a record (transaction markers, deleted records, what a "
            "view leaves out)",
        )
    return lines


def size(size_bytes: float) -> str:
    """Return a size with the unit that keeps it short: 5.4 MB."""
    for unit in UNITS[:-1]:
        if size_bytes < 1000:
            return f"{size_bytes:.0f} {unit}" if unit == "B" else f"{size_bytes:.1f} {unit}"
        size_bytes /= 1000
    return f"{size_bytes:.1f} {UNITS[-1]}"


def _behind(progress: Progress) -> str:
    if progress.worst is None:
        return ""
    topic, partition, lag = progress.worst
    behind = progress.seconds_behind
    return f" (most: {topic}-{partition} {lag:,}{'' if behind is None else f'; {duration(behind)} behind'})"


def _away(since_ms: int | None) -> str:
    if since_ms is None:
        return ""
    return f"BROKER AWAY since {datetime.fromtimestamp(since_ms / 1000, UTC):%H:%M:%S} UTC"


def _left(seconds: float | None) -> str:
    return "" if seconds is None else f"about {duration(seconds)} left"


def duration(seconds: float) -> str:
    """Return a time with the units that keep it short: 2 min 5 s."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes / 60:.1f} h" if minutes < 48 * 60 else f"{minutes / 1440:.0f} days"
