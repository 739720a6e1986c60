"""The ledger of a landed table: the offsets that have landed, and their files. It is the table's own folders.

    lake/flights/                       the table
        batch=0000000041/               one landed batch: it appears, whole, by one rename
            _landed.json                its entry: ranges, files, and positions, totals and columns after it
            land-flights-0-…-….parquet  its files, named after their offsets
        batch=0000000042/
        _common_metadata                the columns of the whole table, for Spark
    lake/.flights.landing/              the job's own: lock, checkpoint, log
        staging/                        a batch being made; its leftovers are removed at the next start

Exactly once. A batch is made in `staging`, synced to disk together with its entry, and renamed into the
table. That rename commits the rows and the ledger at once, so neither can exist without the other. Three
things tie it to Spark's checkpoint:
- Spark fixes the range of a batch before it runs (pipeline.checkpoint), so a batch made again is the same
  batch: same number, same file names.
- An entry names the checkpoint and the batch of it that it landed. When Spark runs a batch again because it
  died before recording the end, the entry is found and nothing is done.
- A new entry must begin where the last one ended, partition by partition. A checkpoint that is older or newer
  than the table, or another job's, is refused: no hole and no overlap, whatever was copied, lost or restored.
When the checkpoint is lost, a new one begins at the positions of the last entry.

Tables with a log of their own (Delta, Iceberg) have the same folders; there the rename makes a batch
durable, and the commit to the log, which names its number, makes it count.

Readers need none of this: Spark, DuckDB, pyarrow and others skip `_landed.json`, see each batch whole or not
at all, and show `batch` as a column.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Literal, Protocol

import msgspec

from pipeline.errors import LedgerError
from pipeline.positions import Positions, Range, offset_of
from pipeline.table_note import TableNote

ENTRY = "_landed.json"
"""Readers of Hive-style tables skip names that begin with an underscore."""

FORMAT = 2
"""Format 1 knew neither topic ids nor the table's columns; the next batch to land adds them."""

SCHEMA = "_common_metadata"
"""A Parquet file of no rows with the columns of the whole table, which Spark reads first, as of old."""

DIGITS = 10
"""Width of a batch number: folders sort as numbers do for 300 years of one batch a second."""


class File(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a batch; `path` is relative to the batch's folder, `crc32c` is of the whole file."""

    path: str
    rows: int
    size_bytes: int
    crc32c: int


class Totals(msgspec.Struct, frozen=True, kw_only=True):
    """Counts over one batch, or over all batches up to one."""

    batches: int = 0
    offsets: int = 0
    """Offsets covered; one without a row is a bad record, a transaction marker or nothing."""
    rows: int = 0
    bad: int = 0
    late: int = 0
    """Records older than the newest one of earlier batches by more than `source.late_after`."""
    files: int = 0
    size_bytes: int = 0
    """Bytes of the files."""
    payload_bytes: int = 0
    """Bytes of the keys and values of all records, bad ones included."""

    def plus(self, other: Totals) -> Totals:
        """Add up, count by count."""
        sums = {name: getattr(self, name) + getattr(other, name) for name in self.__struct_fields__}
        return Totals(**sums)


class Reset(msgspec.Struct, frozen=True, kw_only=True):
    """A topic that was made again: the end of the old one in this table, and where the new one begins."""

    topic: str
    old_id: str
    new_id: str
    ended: dict[str, int]


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """A batch that `compact` has made part of another one."""

    batch: int
    checkpoint: str
    checkpoint_batch: int
    ranges: list[Range]


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One landed batch: number `batch` of the table, number `checkpoint_batch` of the checkpoint."""

    format: int = FORMAT
    kind: Literal["landed", "reset", "compacted", "replayed", "claimed"] = "landed"
    job: str
    batch: int
    checkpoint: str
    checkpoint_batch: int
    ranges: list[Range]
    files: list[File]
    landed: Totals
    total: Totals
    """Everything landed up to and with this batch."""
    positions: Positions
    """The next offset of every partition after this batch."""
    landed_at_ms: int
    topics: dict[str, str] = {}
    """The ids of the topics that have landed."""
    table: TableNote | None = None
    newest_ms: int = 0
    """The newest timestamp of a record landed so far."""
    reset: Reset | None = None
    replayed: list[int] = []
    """The batches whose quarantine has landed with this one: what is still there of it no longer counts."""
    merged: list[Merged] = []
    """The batches that a compacted one consists of, as far back as Spark may run them again."""
    replaces: list[int] = []
    """The batches of a table in a bucket whose files a compacted one replaces in the table's log."""
    writer: str = ""
    """The process that has made an entry of a table in a bucket."""


class CommitLog(Protocol):
    """The log of a table format: a batch counts once it is committed there, not when its folder appears."""

    def committed(self) -> int:
        """Return the number of the last batch that is committed, -1 when there is none."""

    def commit(self, entry: Entry, folder: str, removed: Mapping[str, Entry]) -> None:
        """Add the files of a batch, in `folder` of the table, in place of those of `removed`: all or nothing.

        `removed` has entries by the name of their folder. A batch that is committed already changes nothing.
        What is committed survives a power cut.
        """

    def files(self) -> list[str]:
        """Return the paths, from the table's folder on, of the files that the table consists of now."""


class Ledger:
    """The ledger of the table in `folder`, as job `job` sees it; `last` is its newest entry.

    With a `log`, a folder that it does not know is what a killed run has left, and is made again.

    Raises: LedgerError when the folder holds something that no job of this name has landed.
    """

    def __init__(self, folder: Path, *, job: str, batch_column: str, log: CommitLog | None = None) -> None:
        self.folder = folder
        self.shown = str(folder)
        """The place of the table, for people."""
        self.job = job
        self.log = log
        self.on_placed: Callable[[], None] = lambda: None
        """Called between the rename of a batch and its commit to a log."""
        self._level = f"{batch_column}="
        self.last = self._read_last()

    @property
    def positions(self) -> Positions:
        """The next offset of every partition that has landed so far."""
        return self.last.positions if self.last else {}

    @property
    def topics(self) -> dict[str, str]:
        """The ids of the topics that have landed so far; empty in a ledger of format 1."""
        return self.last.topics if self.last else {}

    @property
    def total(self) -> Totals:
        """Everything landed so far."""
        return self.last.total if self.last else Totals()

    @property
    def next_batch(self) -> int:
        """The number of the next batch to land."""
        return self.last.batch + 1 if self.last else 0

    def folder_name(self, batch: int) -> str:
        """Return the name of the folder of a batch in the table."""
        return f"{self._level}{batch:0{DIGITS}d}"

    def batch_folder(self, batch: int) -> Path:
        """Return the folder of a batch in a table on a file system."""
        return self.folder / self.folder_name(batch)

    def claim(self) -> list[int]:
        """Make sure that no other process lands in the table from now on; to be called before `next_batch`.

        Returns the numbers under which killed runs can have left something and landed nothing. On a file
        system, where the job's lock has shut others out, that is the next batch.  Raises: PipelineError.
        """
        return [self.next_batch]

    def is_settled(self) -> bool:
        """Return whether readers see every batch of the ledger, as they do on a file system."""
        return True

    def columns(self) -> bytes | None:
        """Return the file SCHEMA of the table, None when there is none."""
        path = self.folder / SCHEMA
        return path.read_bytes() if path.is_file() else None

    def write_columns(self, content: bytes, scratch: Path) -> None:
        """Put `content` in the place of the file SCHEMA at once; `scratch` is a path to write to."""
        scratch.parent.mkdir(parents=True, exist_ok=True)
        scratch.write_bytes(content)
        sync_path(scratch)
        self.folder.mkdir(parents=True, exist_ok=True)
        os.rename(scratch, self.folder / SCHEMA)
        sync_path(self.folder)

    def find(self, checkpoint: str, checkpoint_batch: int) -> Merged | None:
        """Return the landed batch of this batch of this checkpoint, if there is one.

        It looks back as far as the checkpoint's own batches can go: entries are in the order of its batches.
        """
        for entry in self._newest_first():
            if entry.checkpoint != checkpoint:
                return None
            for landed in reversed(landed_batches(entry)):
                if (landed.checkpoint, landed.checkpoint_batch) == (checkpoint, checkpoint_batch):
                    return landed
                if landed.checkpoint_batch < checkpoint_batch:
                    return None
        return None

    def _newest_first(self) -> Iterator[Entry]:
        """Yield the entries, the newest first; for it alone the table is not listed."""
        if self.last:
            yield self.last
            yield from (self.read(batch) for batch in reversed(self.batches()) if batch < self.last.batch)

    def check_continues(self, ranges: list[Range]) -> None:
        """Refuse a batch that does not begin where the table ends.  Raises: LedgerError."""
        for held in ranges:
            landed = offset_of(self.positions, held.topic, str(held.partition))
            if landed is not None and landed != held.begin:
                effect = "leave out" if landed < held.begin else "land again"
                first, last = sorted((landed, held.begin))
                raise LedgerError(
                    f"{held.topic}-{held.partition}: the next batch begins at offset {held.begin}, but the "
                    f"table ends at {landed}; landing it would {effect} offsets {first} to {last - 1}. The "
                    f"checkpoint and {self.shown} are not of one run: restore what is missing, or move "
                    "the checkpoint away to continue where the table ends"
                )

    def publish(self, staged: Path, entry: Entry, replaced: Mapping[str, Entry] | None = None) -> None:
        """Land the batch made in `staged`: invisible before, it survives a power cut once this returns.

        A table with a log may thereby lose the files of `replaced`, batches by the name of their folder.
        Raises: LedgerError when the folder is already there.
        """
        assert entry.batch == self.next_batch, (entry.batch, self.next_batch)
        self._check_is_there()
        (staged / ENTRY).write_bytes(entry_text(entry))
        sync_tree(staged)
        self.folder.mkdir(parents=True, exist_ok=True)
        target = self.batch_folder(entry.batch)
        if target.exists() and self.log is not None:
            shutil.rmtree(target)
        if target.exists():
            raise LedgerError(f"{target} exists, but the ledger does not know it; move it away and run again")
        os.rename(staged, target)
        sync_path(self.folder)
        self.on_placed()
        if self.log is not None:
            self.log.commit(entry, target.name, replaced or {})
        self.last = entry

    def _check_is_there(self) -> None:
        """Refuse to land where the table was and is not any more, as below a mount that has gone away.

        Raises: LedgerError.
        """
        if self.last is None or self.batch_folder(self.last.batch).is_dir():
            return
        raise LedgerError(
            f"{self.batch_folder(self.last.batch)}, the newest batch of the table, has vanished while the "
            "job ran; nothing more has landed. If its disk is away, mount it again; else restore the table. "
            "Then run the job again: it continues where the table ends"
        )

    def batches(self) -> list[int]:
        """Return the numbers of the batches in the table, in order."""
        names = [path.name.removeprefix(self._level) for path in self.folder.glob(f"{self._level}*")]
        numbers = sorted(int(name) for name in names if name.isdigit())
        if self.log is None or not numbers:
            return numbers
        committed = self.log.committed()
        return [number for number in numbers if number <= committed]

    def _read_last(self) -> Entry | None:
        batches = self.batches()
        if not batches:
            self._check_is_empty()
            return None
        return self.read(batches[-1])

    def read(self, batch: int) -> Entry:
        """Return the entry of one batch.  Raises: LedgerError."""
        path, text = self._stored(batch)
        try:
            entry = msgspec.json.decode(text, type=Entry)
        except msgspec.DecodeError as error:
            raise LedgerError(_unreadable(path, error)) from error
        if entry.format > FORMAT:
            raise LedgerError(
                f"{path} has format {entry.format}, and this version of kawal knows those up to {FORMAT}: "
                "a newer one has landed here; use that one"
            )
        if entry.job != self.job:
            raise LedgerError(
                f"{self.shown} was landed by the job {entry.job!r}, not by {self.job!r}; give each job a "
                "folder of its own"
            )
        return entry

    def _stored(self, batch: int) -> tuple[str, bytes]:
        """Return where the entry of a batch is, and its text.  Raises: LedgerError."""
        path = self.batch_folder(batch) / ENTRY
        try:
            return str(path), path.read_bytes()
        except OSError as error:
            raise LedgerError(_unreadable(str(path), error)) from error

    def _is_ours(self, path: Path) -> bool:
        """Return whether a path in a table without batches is one of ours, or of its log."""
        if self.log is None:
            return path.name == SCHEMA
        return path.name.startswith(("_", "metadata", self._level))

    def _check_is_empty(self) -> None:
        found = next((path for path in sorted(self.folder.glob("*")) if not self._is_ours(path)), None)
        if found is not None and (found / ENTRY).is_file():
            column = found.name.partition("=")[0]
            raise LedgerError(
                f"{self.folder} was landed with sink.batch_column = {column!r}, not {self._level[:-1]!r}; "
                "set it back"
            )
        if found is not None:
            raise LedgerError(
                f"{self.folder} holds {found.name}, which no land job put there; give the job an empty folder"
            )


def landed_batches(entry: Entry) -> list[Merged]:
    """Return the batches of Spark's that an entry stands for, in order."""
    if entry.merged or entry.kind not in ("landed", "compacted"):
        return entry.merged
    return [
        Merged(
            batch=entry.batch,
            checkpoint=entry.checkpoint,
            checkpoint_batch=entry.checkpoint_batch,
            ranges=entry.ranges,
        )
    ]


def _unreadable(path: str, error: Exception) -> str:
    return f"{path} cannot be read: {error}; every landed batch has one. Restore it, or move the table away"


def entry_text(entry: Entry) -> bytes:
    """Return an entry as it is stored."""
    return msgspec.json.format(msgspec.json.encode(entry)) + b"\n"


def sync_tree(folder: Path) -> None:
    """Make every file below `folder`, and every name in it, survive a power cut."""
    for directory, _, files in os.walk(folder):
        for name in files:
            sync_path(Path(directory) / name)
        sync_path(Path(directory))


def sync_path(path: Path) -> None:
    """Sync one file or one folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
