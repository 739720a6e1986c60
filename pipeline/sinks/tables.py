"""The ledger of a job's table, with the log of its format."""

from __future__ import annotations

from importlib import util
from pathlib import Path

from pipeline.config import Job
from pipeline.errors import SetupError
from pipeline.ledger import CommitLog, Ledger
from pipeline.places import places_of
from pipeline.shape import shape_of
from pipeline.table_note import note_of


def ledger_of(job: Job) -> Ledger:
    """Open the ledger of the table of `job`.  Raises: LedgerError, SetupError."""
    table = places_of(job).table
    return Ledger(table, job=job.name, batch_column=job.sink.batch_column, log=_log(job, table))


def _log(job: Job, table: Path) -> CommitLog | None:
    if job.sink.kind == "parquet":
        return None
    package = {"delta": "deltalake", "iceberg": "pyiceberg"}[job.sink.kind]
    if util.find_spec(package) is None:
        raise SetupError(
            f"sink.kind is {job.sink.kind!r}, which needs {package}: pip install 'kawal[{job.sink.kind}]'"
        )
    note = note_of(job, shape_of(job))
    if job.sink.kind == "delta":
        from pipeline.sinks.delta import DeltaLog

        return DeltaLog(table, job=job.name, note=note)
    from pipeline.sinks.iceberg import IcebergLog, catalog_properties

    properties = catalog_properties(job.sink.catalog, places_of(job).own / "catalog.db", table)
    return IcebergLog(table, job=job.name, note=note, properties=properties, name=job.sink.table)
