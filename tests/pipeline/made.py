"""Makers of what the tests of the pipeline need often: jobs, records, checkpoints, ledgers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import Job
from pipeline.job_file import parse
from pipeline.job_paths import at_home
from pipeline.ledger import Entry, Ledger, Totals
from pipeline.positions import Positions, Range
from pipeline.shape import Shape, shape_of

RECORD_SCHEMA = (
    "key binary, value binary, topic string, partition int, offset long, ms long, "
    "headers array<struct<key: string, value: binary>>"
)
NEW_YEAR_MS = 1_356_998_400_000
"""2013-01-01T00:00:00Z."""

LAKE = Path("/lake")
"""The folder of jobs that are never run."""

QUERY = "5a6f1f0e-0000-4000-8000-000000000001"


def job(folder: Path, **tables: Any) -> Job:
    """Return a job `land-t` from topic `t` to `folder`/t; `schema={"mode": "json"}` etc. fill its tables."""
    content: dict[str, dict[str, Any]] = {
        "job": {"name": "land-t"},
        "source": {"topics": ["t"]},
        "sink": {"path": "t"},
    }
    for name, keys in tables.items():
        content[name] = {**content.get(name, {}), **keys}
    return at_home(parse(content), folder)


def lake_shape(columns: str = "", **tables: Any) -> Shape:
    """Return the shape of a job that is never run, with these JSON columns or else of raw records."""
    if columns:
        tables["schema"] = {"mode": "json", "columns": columns, **tables.get("schema", {})}
    return shape_of(job(LAKE, **tables))


def open_ledger(folder: Path, job: str = "land-t") -> Ledger:
    """Return the ledger of a job that lands in `folder`/t."""
    return Ledger(folder / "t", job=job, batch_column="batch")


def land(folder: Path, *batches: tuple[int, int], **changed: Any) -> Ledger:
    """Land batches of these offsets, each of one file."""
    ledger = open_ledger(folder)
    for begin, until in batches:
        staged = folder / "staged"
        staged.mkdir()
        (staged / "part.parquet").write_bytes(b"PAR1")
        ledger.publish(staged, entry(ledger.next_batch, begin, until, **changed))
    return ledger


def records(spark: Any, values: Sequence[bytes | None], *, first: int = 0, partition: int = 0) -> Any:
    """Return records as of Spark's source: topic t, offsets from `first`, one a millisecond, key = offset."""
    rows = [
        (
            str(offset).encode(),
            None if value is None else bytearray(value),
            *("t", partition, offset, NEW_YEAR_MS + offset, None),
        )
        for offset, value in enumerate(values, start=first)
    ]
    frame = spark.createDataFrame(rows, RECORD_SCHEMA).coalesce(1)  # one task per topic partition, as Kafka's
    return frame.selectExpr(
        *("key", "value", "topic", "partition", "offset"),
        "timestamp_millis(ms) as timestamp",
        "0 as timestampType",
        "headers",
    )


def write_checkpoint(
    folder: Path, *, planned: Sequence[Positions], committed: int = -1, query: str = QUERY
) -> None:
    """Write a checkpoint of Spark's: `planned[0]` is where the first batch begins, the others are ends."""
    files = {"metadata": json.dumps({"id": query}), "sources/0/0": "v1\n" + json.dumps(planned[0])}
    for batch, positions in enumerate(planned[1:]):
        files[f"offsets/{batch}"] = 'v1\n{"batchWatermarkMs":0}\n' + json.dumps(positions)
        files[f"offsets/.{batch}.crc"] = "crc"
    for batch in range(committed + 1):
        files[f"commits/{batch}"] = "v1\n{}"
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def entry(batch: int, begin: int, until: int, **changed: Any) -> Entry:
    """Return an entry for offsets of t-0, landed as batch `batch` of checkpoint QUERY."""
    fields: dict[str, Any] = {
        "job": "land-t",
        "batch": batch,
        "checkpoint": QUERY,
        "checkpoint_batch": batch,
        "ranges": [Range(topic="t", partition=0, begin=begin, until=until)],
        "files": [],
        "landed": Totals(batches=1, offsets=until - begin, rows=until - begin),
        "total": Totals(batches=batch + 1, offsets=until, rows=until),
        "positions": {"t": {"0": until}},
        "landed_at_ms": NEW_YEAR_MS,
    }
    return Entry(**{**fields, **changed})


def without_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Java, pyspark and jars be there, whatever this machine has."""
    for step in ("require_pyspark", "_check_jar"):
        monkeypatch.setattr(f"pipeline.engine_check.{step}", lambda *_nothing: None)
    monkeypatch.setattr("pipeline.engine_check.find_java", lambda _environment: Path("java"))
    monkeypatch.setattr("pipeline.engine_check.java_version", lambda *_java: 17)
    monkeypatch.setattr("pipeline.engine_check.find_jars", lambda _environment: [])
