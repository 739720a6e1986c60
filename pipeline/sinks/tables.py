"""The ledger of a job's table, with the log of its format."""

from __future__ import annotations

from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.bucket_config import delta_options, iceberg_options, place_in_bucket
from pipeline.config import Job
from pipeline.errors import SetupError
from pipeline.ledger import CommitLog, Ledger
from pipeline.places import places_of
from pipeline.shape import shape_of
from pipeline.table_note import note_of

if TYPE_CHECKING:
    from pipeline.bucket import Bucket


def ledger_of(job: Job, *, in_a_hurry: bool = False) -> Ledger:
    """Open the ledger of the table of `job`; `in_a_hurry`, a bucket that does not answer at once is away.

    Raises: LedgerError, SetupError, StoreError.
    """
    if job.in_bucket:
        from pipeline.bucket_ledger import BucketLedger

        bucket = bucket_of(job, in_a_hurry=in_a_hurry)
        return BucketLedger(
            bucket, job=job.name, batch_column=job.sink.batch_column, log=_log(job, job.sink.path)
        )
    table = Path(job.sink.path)
    return Ledger(table, job=job.name, batch_column=job.sink.batch_column, log=_log(job, table))


def bucket_of(job: Job, *, in_a_hurry: bool = False) -> Bucket:
    """Return the objects of the table of `job`, which is in a bucket.  Raises: SetupError."""
    from pipeline.bucket import HURRY_SECONDS, PATIENCE_SECONDS, open_bucket

    return open_bucket(
        place_in_bucket(job.sink.path),
        job.sink.bucket,
        patience_seconds=HURRY_SECONDS if in_a_hurry else PATIENCE_SECONDS,
    )


def _log(job: Job, table: Path | str) -> CommitLog | None:
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

        options = delta_options(job.sink.bucket) if job.in_bucket else None
        return DeltaLog(table, job=job.name, note=note, options=options)
    from pipeline.sinks.iceberg import IcebergLog, catalog_properties

    if isinstance(table, str):
        properties = {**iceberg_options(job.sink.bucket), **job.sink.catalog}
    else:
        properties = catalog_properties(job.sink.catalog, places_of(job).own / "catalog.db", table)
    return IcebergLog(table, job=job.name, note=note, properties=properties, name=job.sink.table)
