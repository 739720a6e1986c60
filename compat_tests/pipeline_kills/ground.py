"""The ground of one scenario: a broker, a topic, a job of one format, and what readers and `audit` see."""

from __future__ import annotations

import io
import json
import os
import subprocess
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from compat_tests.broker import Broker
from compat_tests.object_store import ObjectStore, iceberg_rows
from compat_tests.pipeline_jobs import DEADLINE_SECONDS, JSON_SCHEMA, PipelineJob, produce_numbers
from compat_tests.pipeline_kills.processes import running
from compat_tests.spark import spark_session
from compat_tests.topics import create_topic
from compat_tests.waiting import eventually
from pipeline.audit_report import audit_job
from pipeline.job_file import load
from pipeline.places import Places, places_of

KINDS = ("parquet", "delta", "iceberg")
BUCKET_KINDS = tuple(f"{kind}-s3" for kind in KINDS)
"""The same formats in a bucket, for the scenarios that name no local folder."""

MANY = 60_000
"""Records whose batch takes some seconds: long enough to break something in the middle of it."""

_serial = count(1)


@dataclass(slots=True)
class Ground:
    """A scenario's own folder and topic on a broker that it may break."""

    broker: Broker
    folder: Path
    kind: str
    topic: str
    job: PipelineJob
    store: ObjectStore | None = None
    """The store of a table in a bucket."""

    @property
    def format(self) -> str:
        """The format of the table."""
        return self.kind.removesuffix("-s3")

    @property
    def catalog(self) -> Path:
        """The catalog of an Iceberg table in a bucket."""
        return self.folder / "catalog.db"

    @property
    def places(self) -> Places:
        """The folders of the job."""
        return places_of(load(self.job.file))

    def edit(self, old: str, new: str) -> None:
        """Replace some text of the job file, which must be there."""
        text = self.job.file.read_text()
        assert old in text, f"the job file has no {old!r}"
        self.job.file.write_text(text.replace(old, new))

    def large_batches(self) -> None:
        """Let a batch take everything that is there."""
        self.edit("max_offsets_per_trigger = 40", "max_offsets_per_trigger = 1000000")

    def audited(self) -> dict[str, Any]:
        """Return what `audit` finds, in the Spark session of this process."""
        spark_session()
        out = io.StringIO()
        code = audit_job(load(self.job.file), out, as_json=True)
        found: dict[str, Any] = json.loads(out.getvalue())
        assert code == (0 if found["equal"] else 5)
        return found

    def must_be_equal(self, *, rows: int, bad: int = 0) -> None:
        """Compare table and topic, and the number of rows and of bad records with what was produced."""
        found = self.audited()
        assert found["equal"], found
        assert sum(each["table"]["rows"] for each in found["partitions"]) == rows, found
        assert sum(each["source"]["bad"] for each in found["partitions"]) == bad, found
        assert self.visible_rows() == rows
        assert self.quarantined_rows() == bad

    def quarantined_rows(self) -> int:
        """Return the rows in the quarantine, as a reader that knows nothing of the ledger sees them."""
        import pyarrow.parquet as pq

        folder = Path(load(self.job.file).errors.path)
        return sum(pq.read_metadata(path).num_rows for path in folder.glob("**/batch=*/**/*.parquet"))

    def visible_rows(self) -> int:
        """Return the rows that a reader of the table's format sees, none of whose code is ours."""
        if self.store is not None:
            return self.store.rows(self.format, f"lake/{self.topic}", self.catalog)
        table = self.folder / "lake" / "t"
        if self.kind == "delta":
            from deltalake import DeltaTable

            return (
                DeltaTable(str(table)).to_pyarrow_table().num_rows if (table / "_delta_log").is_dir() else 0
            )
        if self.kind == "iceberg":
            return iceberg_rows(self.folder / "lake" / ".t.landing" / "catalog.db", "kawal.t")
        import pyarrow.parquet as pq

        return sum(pq.read_metadata(path).num_rows for path in table.glob("batch=*/**/*.parquet"))

    def files(self) -> dict[str, int]:
        """Return every file of the table, on the disk or in its bucket, with the time it was written."""
        if self.store is None:
            found = self.job.files()
        else:
            from pyarrow.fs import FileSelector, FileType

            listed = self.store.files().get_file_info(FileSelector(f"lake/{self.topic}", recursive=True))
            found = {each.path: each.mtime_ns for each in listed if each.type == FileType.File}
        assert found, "there is no file of the table"
        return found

    def running(self, action: str = "run") -> AbstractContextManager[subprocess.Popen[str]]:
        """Run the job's command in a process group of its own; it is killed at the end of the block."""
        return running(self.job.file, action)


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of a run; return its exit code and its output."""
    out, _ = process.communicate(timeout=DEADLINE_SECONDS)
    return process.returncode, out


def in_mid_batch(run: subprocess.Popen[str], find: Callable[[], list[int]]) -> int:
    """Wait until `find` returns processes while `run` lasts, and return the first."""

    def found() -> list[int]:
        assert run.poll() is None, f"the run ended with {run.returncode}: {ended(run)[1]}"
        return find()

    return eventually(
        found, waiting_for="a process in the middle of a batch", within_seconds=DEADLINE_SECONDS
    )[0]


def make_ground(
    broker: Broker, folder: Path, kind: str, schema: str = JSON_SCHEMA, store: ObjectStore | None = None
) -> Ground:
    """Make a topic of two partitions and a job that lands it; `store` is for the kinds that end in -s3."""
    folder.mkdir(parents=True)
    topic = create_topic(broker, f"kills-{kind}-{os.getpid()}-{next(_serial)}", 2)
    job = PipelineJob(folder, broker, topic, schema)
    ground = Ground(broker, folder, kind, topic, job, store if kind in BUCKET_KINDS else None)
    ground.edit("[sink]\n", f'[sink]\nkind = "{ground.format}"\n')
    if ground.store is not None:
        ground.edit('path = "lake/t"\n', f'path = "s3://lake/{topic}"\n{_bucket_keys(ground)}')
    return ground


def _bucket_keys(ground: Ground) -> str:
    assert ground.store is not None
    catalog = (
        f'catalog = {{ type = "sql", uri = "sqlite:///{ground.catalog}" }}\n'
        if ground.format == "iceberg"
        else ""
    )
    return f'{catalog}[sink.bucket]\nendpoint = "{ground.store.endpoint}"\n'


def produce_many(ground: Ground) -> None:
    """Produce MANY records, and let one batch take them all."""
    ground.large_batches()
    produce_numbers(ground.broker, ground.topic, range(MANY))
