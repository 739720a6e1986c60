"""The Parquet files that one task writes, each in row groups that several batches of records make."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pipeline.errors import SinkError

if TYPE_CHECKING:
    import pyarrow

BUFFER_BYTES: Final = 64 << 20
"""The rows of a task that wait for a row group of their file, in bytes of Arrow."""

OPEN_FILES_MAX: Final = 64
"""The files that a task has open.  Rows of more folders, BUFFER_BYTES at a time, make further files."""

CODECS: Final = {"uncompressed": "none", "lz4_raw": "lz4"}
"""The codecs that pyarrow calls otherwise than the job file, as Spark does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """The layout of a batch's files; see the keys of table [sink]."""

    partition_by: tuple[str, ...] = ()
    keeps_columns: bool = False
    """Whether partition columns are in the files as well: Iceberg reads them there."""
    compression: str = "zstd"
    max_rows_per_file: int = 0


class FileKey(NamedTuple):
    """The part of a row's place that the rows of one file have in common."""

    topic: str
    partition: int
    folders: str
    """The folders that `partition_by` asks for, such as `side=x%2F0/hour=3`."""


class _OpenFile:
    """A file that is being written."""

    def __init__(self, path: Path, schema: pyarrow.Schema, compression: str) -> None:
        import pyarrow.parquet as pq

        self.rows = 0
        # As Spark writes: decimals as the integers that formats of tables prescribe, no schema of Arrow's.
        self.writer = pq.ParquetWriter(
            path,
            schema,
            compression=CODECS.get(compression, compression),
            store_schema=False,
            store_decimal_as_integer=True,
        )


class TaskFiles:
    """The files of one kind that a task writes."""

    def __init__(self, folder: str, layout: Layout) -> None:
        self._folder = Path(folder)
        self._layout = layout
        self._waiting: dict[FileKey, list[pyarrow.RecordBatch]] = {}
        self._waiting_bytes = 0
        self._first: dict[FileKey, int] = {}
        self._open: dict[FileKey, _OpenFile] = {}
        self._made: list[tuple[FileKey, Path]] = []

    def add(self, key: FileKey, offset: int, rows: pyarrow.RecordBatch) -> None:
        """Take rows for a file, the first of which has this offset.  Raises: SinkError."""
        self._first.setdefault(key, offset)
        self._waiting.setdefault(key, []).append(rows)
        self._waiting_bytes += rows.nbytes
        if self._waiting_bytes >= BUFFER_BYTES:
            with self._telling():
                self._flush()

    def finished(self, *, bad: bool) -> list[dict[str, Any]]:
        """Close the files; return the rows of RESULT about them.  Raises: SinkError."""
        with self._telling():
            self._flush()
            for file in self._open.values():
                file.writer.close()
        serials = dict.fromkeys(self._first, 0)
        found = []
        for key, path in self._made:
            found.append(
                {
                    **key._asdict(),
                    "path": str(path),
                    "first": self._first[key],
                    "serial": serials[key],
                    "bad": bad,
                }
            )
            serials[key] += 1
        return found

    @contextmanager
    def _telling(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise SinkError(f"rows cannot be written to {self._folder}: {why}") from error

    def _flush(self) -> None:
        import pyarrow as pa

        for key, batches in self._waiting.items():
            self._write(key, pa.Table.from_batches(batches))
        self._waiting.clear()
        self._waiting_bytes = 0

    def _write(self, key: FileKey, rows: pyarrow.Table) -> None:
        most = self._layout.max_rows_per_file
        while rows.num_rows:
            file = self._open.pop(key, None) or self._begun(key, rows.schema)
            part = rows.slice(0, most - file.rows) if most else rows
            file.writer.write_table(part)
            file.rows += part.num_rows
            rows = rows.slice(part.num_rows)
            if most and file.rows == most:
                file.writer.close()
            else:
                self._open[key] = file

    def _begun(self, key: FileKey, schema: pyarrow.Schema) -> _OpenFile:
        if len(self._open) >= OPEN_FILES_MAX:
            self._open.pop(next(iter(self._open))).writer.close()
        self._folder.mkdir(parents=True, exist_ok=True)
        path = self._folder / f"{uuid.uuid4().hex}.parquet"
        self._made.append((key, path))
        return _OpenFile(path, schema, self._layout.compression)
