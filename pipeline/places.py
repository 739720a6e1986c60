"""The folders of a job: the table, and its own folder beside it.

    lake/flights/             the table
    lake/flights_bad/         the quarantine table
    lake/.flights.landing/    lock, spark.log, checkpoint/, staging/

Of a table in a bucket only the job's own folder and the quarantine are on this machine. The job's own folder
is not inside the table, where a reader's `**/*.parquet` would find half-made batches,
but beside it, to be on the same file system: between two file systems, a rename is a copy.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pipeline.config import Job
from pipeline.errors import SetupError

PROCESS = f"{os.getpid()}-{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class Places:
    """The absolute paths of one job, as `pipeline.job_file.load` has resolved them."""

    table: Path
    """Of a table in a bucket, where it would be on this machine: nothing is ever made there."""
    quarantine: Path
    checkpoint: Path
    own: Path
    """The job's own folder."""
    in_bucket: bool = False

    @property
    def leftovers(self) -> Path:
        """The folder in which batches are made; what a run finds there is of runs that were killed."""
        return self.own / "staging"

    @property
    def staging(self) -> Path:
        """The folder in which this process makes a batch.

        Each process has its own: the JVM of one that was killed may go on writing for a moment.
        """
        return self.leftovers / PROCESS

    @property
    def lock(self) -> Path:
        """The file that is locked while the job runs."""
        return self.own / "lock"

    @property
    def log(self) -> Path:
        """The log of Spark and its JVM."""
        return self.own / "spark.log"

    def prepare(self) -> None:
        """Make the job's own folder.  Raises: SetupError when a batch could not be made or moved from it."""
        self.check()
        self.own.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Refuse folders that cannot be written, or between which nothing can be renamed; create none.

        Raises: SetupError.
        """
        home = nearest_folder(self.own)
        tables = [self.quarantine] if self.in_bucket else [self.table, self.quarantine]
        for folder in (*tables, self.checkpoint):
            there = nearest_folder(folder)
            if not os.access(there, os.W_OK | os.X_OK):
                raise SetupError(f"{folder} cannot be made: {there} is not writable")
            if folder != self.checkpoint and there.stat().st_dev != home.stat().st_dev:
                raise SetupError(
                    f"{folder} is on another file system than {self.own}, so a batch cannot appear in it by "
                    "one rename; give a folder below the mount point"
                )


def uri(path: Path) -> str:
    """Return a local path as Spark and Iceberg write it: what follows the scheme is taken as it is."""
    return f"file://{path}"


def nearest_folder(path: Path) -> Path:
    """Return `path` or the nearest folder above it that exists.  Raises: SetupError when that is a file."""
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    if not there.is_dir():
        raise SetupError(f"{there} is a file, so {path} cannot be a folder; give another path")
    return there


def cache_folder(environment: Mapping[str, str]) -> Path:
    """Return the folder for files that can be made again, by the rules of the XDG base directories."""
    return Path(environment.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "kawal"


def places_of(job: Job) -> Places:
    """Return the paths of `job`."""
    table = Path(job.sink.path)
    own = table.parent / f".{table.name}.landing"
    if job.in_bucket:
        own = Path(job.sink.work)
        table = own / table.name
    return Places(
        table=table,
        quarantine=Path(job.errors.path),
        checkpoint=Path(job.job.checkpoint),
        own=own,
        in_bucket=job.in_bucket,
    )
