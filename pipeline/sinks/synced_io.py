"""The files of an Iceberg table's metadata on a disk, each synced before anything points to it.

pyiceberg writes manifests and metadata, and then changes the catalog's pointer, which a database syncs. It
leaves the files to the system: after a power cut the catalog could point to metadata that is not there.
"""

from __future__ import annotations

from pathlib import Path
from types import TracebackType
from typing import Any

from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.pyarrow import PyArrowFileIO

from pipeline.ledger import sync_path


class SyncedFileIO(PyArrowFileIO):  # type: ignore[misc]  # pyiceberg is untyped for us
    """File access for pyiceberg (its property `py-io-impl`), with `OutputFile`s that are synced."""

    def new_output(self, location: str) -> Any:
        """Return a file to write, at the address or path `location`."""
        return SyncedFile(location, super().new_output(location))


class SyncedFile(OutputFile):  # type: ignore[misc]
    """A file that survives a power cut once its stream is closed."""

    def __init__(self, location: str, file: OutputFile) -> None:
        super().__init__(location)
        self._file = file

    def __len__(self) -> int:
        """Return the length in bytes."""
        return len(self._file)

    def exists(self) -> bool:
        """Return whether the file is there."""
        return bool(self._file.exists())

    def to_input_file(self) -> InputFile:
        """Return the file to read."""
        return self._file.to_input_file()

    def create(self, overwrite: bool = False) -> OutputStream:
        """Open the file to write.  Raises: FileExistsError."""
        return SyncedStream(_path_of(self.location), self._file.create(overwrite))


class SyncedStream:
    """The stream of a `SyncedFile`: closing it syncs the file and its name."""

    def __init__(self, path: Path, stream: OutputStream) -> None:
        self._path = path
        self._stream = stream
        self._closed = False

    def write(self, b: bytes) -> int:
        """Write bytes, and return how many."""
        return int(self._stream.write(b))

    def tell(self) -> int:
        """Return how many bytes were written."""
        return int(self._stream.tell())

    def close(self) -> None:
        """Close the file, and sync it."""
        if self._closed:
            return
        self._stream.close()
        self._closed = True
        sync_path(self._path)
        sync_path(self._path.parent)

    def __enter__(self) -> SyncedStream:
        """Return the stream."""
        return self

    def __exit__(
        self,
        exctype: type[BaseException] | None,
        excinst: BaseException | None,
        exctb: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()


def _path_of(location: str) -> Path:
    return Path(PyArrowFileIO.parse_location(location)[2])
