"""`kawal pipe status`: what a job has landed, from the ledger alone, and its lag if the broker answers."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, TextIO

import msgspec

from pipeline.config import Job
from pipeline.errors import DONE, SourceError
from pipeline.lock import running_as
from pipeline.places import places_of
from pipeline.positions import lags, moved
from pipeline.report import size
from pipeline.sinks.tables import ledger_of
from pipeline.sources.topics import open_topics

SHOWN_PARTITIONS = 20
"""The most partitions listed one by one; JSON lists them all."""


def job_status(job: Job) -> dict[str, Any]:
    """Return the job's state as a JSON tree, without Spark.  Raises: LedgerError."""
    places = places_of(job)
    ledger = ledger_of(job, in_a_hurry=True)
    state: dict[str, Any] = {
        "job": job.name,
        "table": job.sink.path,
        "running_as": running_as(places.lock),
        "landed_at_ms": ledger.last.landed_at_ms if ledger.last else None,
        "total": msgspec.to_builtins(ledger.total),
        "positions": ledger.positions,
        "lag": None,
        "problem": None,
    }
    try:
        with open_topics(job.source) as topics:
            begin = moved(topics.resolved(topics.starting_offsets({})), ledger.positions)
            state["lag"] = {
                f"{topic}-{partition}": lag
                for (topic, partition), lag in lags(begin, topics.latest()).items()
            }
    except SourceError as error:
        state["problem"] = str(error)
    return state


def print_status(job: Job, out: TextIO, *, as_json: bool) -> int:
    """Print the state as lines, or as one JSON object."""
    state = job_status(job)
    print(msgspec.json.encode(state).decode() if as_json else "\n".join(status_lines(state)), file=out)
    return DONE


def status_lines(state: dict[str, Any]) -> list[str]:
    """Return the state as lines for people."""
    total = state["total"]
    when = state["landed_at_ms"]
    landed = (
        datetime.fromtimestamp(when / 1000, UTC).isoformat(sep=" ", timespec="seconds") if when else "never"
    )
    lag = state["lag"]
    lines = [
        f"{state['job']}: {'running as ' + state['running_as'] if state['running_as'] else 'not running'}",
        f"  table    {state['table']}",
        f"  rows     {total['rows']:,} in {total['batches']:,} batches, {total['files']:,} files, "
        f"{size(total['size_bytes'])}",
        f"  bad      {total['bad']:,}",
        f"  landed   {landed}",
        f"  lag      {'unknown: ' + state['problem'] if lag is None else f'{sum(lag.values()):,} offsets'}",
    ]
    places = [
        (f"{topic}-{partition}", offset)
        for topic, partitions in state["positions"].items()
        for partition, offset in partitions.items()
    ]
    for name, offset in places[:SHOWN_PARTITIONS]:
        behind = f", {lag[name]:,} behind" if lag and lag.get(name) else ""
        lines.append(f"  next     {name} offset {offset:,}{behind}")
    if len(places) > SHOWN_PARTITIONS:
        lines.append(f"  …        and {len(places) - SHOWN_PARTITIONS} more partitions")
    return lines
