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
import tempfile
from collections.abc import Mapping
from contextlib import suppress
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
        for folder in () if self.in_bucket else self.table.parents:
            if (folder.parent / f".{folder.name}.landing").is_dir():
                raise SetupError(
                    f"sink.path is {self.table}, in {folder}, the table of another job, whose readers would "
                    "take the rows of both; give another path"
                )
        tables = [self.quarantine] if self.in_bucket else [self.table, self.quarantine]
        tried: set[Path] = set()
        for folder in (*tables, self.checkpoint, self.own):
            there = nearest_folder(folder)
            if there not in tried and (problem := problem_in(there)):
                raise SetupError(
                    f"{folder} cannot be made: nothing can be made in {there} ({problem}); give another "
                    "path, or the right to write there"
                )
            tried.add(there)
            if folder in tables and there.stat().st_dev != home.stat().st_dev:
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


def problem_in(folder: Path) -> str:
    """Return why nothing can be made in a folder that exists, "" when something can; nothing stays in it.

    It is tried: rights alone do not tell, as root has them in /proc, too.
    """
    # A file without a name: no reader sees it, and nothing is left of it however this process ends. Not every
    # file system has them: NFS needs a folder.
    with suppress(OSError):
        os.close(os.open(folder, os.O_TMPFILE | os.O_WRONLY, 0o600))
        return ""
    try:
        Path(tempfile.mkdtemp(prefix=".kawal-check-", dir=folder)).rmdir()
    except OSError as error:
        return error.strerror or str(error)
    return ""


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
