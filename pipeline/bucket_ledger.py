"""The ledger of a table in a bucket, where nothing can be renamed: an entry is an object created if absent.

    s3://lake/flights/                    the table
        batch=0000000041/…                its files, under the names that they have on a disk, too
        _landed/0000000041.json           the entry of that batch: its creation lands the batch
        _landed/0000000042.json           the claim of the run that has landed the next ones

Exactly once. The files of a batch are stored first, then its entry is created. Of two runs that make one
batch number theirs, the store lets one win; the other ends. So that the files of a run that is believed dead,
and is not, are never mixed with ours, a run that begins to land first creates an entry of kind `claimed` with
the next number: one that had meant to land under it cannot any more, and what was stored under it is removed.
This needs neither clocks nor leases, and the newest run wins.

A log (Delta, Iceberg) follows the ledger: files, entry, commit. A run that dies before the commit has landed
the batch, and the next claim makes the commit good, which the log takes once only. Without a log, readers see
the files of a batch one after the other, as they are stored, and the leftovers of a killed run until the next
run; a reader that wants whole batches reads the files that entries name.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import msgspec

from pipeline.bucket import Bucket, sentence_of
from pipeline.errors import LedgerError, StoreError
from pipeline.ledger import DIGITS, SCHEMA, CommitLog, Entry, Ledger, Totals, entry_text
from pipeline.places import PROCESS

ENTRIES = "_landed"
"""Readers of Hive-style tables, and Delta's vacuum, skip names that begin with an underscore."""


class BucketLedger(Ledger):
    """The ledger of the table in `bucket`; the arguments are otherwise those of `Ledger`."""

    def __init__(
        self,
        bucket: Bucket,
        *,
        job: str,
        batch_column: str,
        log: CommitLog | None = None,
        writer: str = PROCESS,
    ) -> None:
        self._bucket = bucket
        self._writer = writer
        self._claimed = False
        super().__init__(Path(bucket.shown), job=job, batch_column=batch_column, log=log)
        self.shown = bucket.shown

    def batches(self) -> list[int]:
        """Return the numbers of the entries, in order; those of a table with a log need not be in it yet."""
        names = [key.rpartition("/")[2].removesuffix(".json") for key in self._bucket.keys_below(ENTRIES)]
        return sorted(int(name) for name in names if name.isdigit())

    def claim(self) -> list[int]:
        """Shut out every other run, make good what one of them left, and probe the store: once in a run.

        Returns the numbers of the claims since the last batch.  Raises: LedgerError when another run has just
        claimed the table.
        """
        if self._claimed:
            return []
        self._bucket.probe()
        self._create(self._claim_entry())
        self._claimed = True
        shut_out = self._remove_leftovers()
        self._commit_to_log()
        return shut_out

    def publish(self, staged: Path, entry: Entry, replaced: Mapping[str, Entry] | None = None) -> None:
        """Land the batch made in `staged`; it is stored, and in the log, once this returns.

        Raises: LedgerError when another run has claimed the table meanwhile; StoreError.
        """
        assert self._claimed, "publish without claim"
        assert entry.batch == self.next_batch, (entry.batch, self.next_batch)
        folder = self.folder_name(entry.batch)
        files = {f"{folder}/{file.path}": staged / file.path for file in entry.files}
        self._bucket.upload(files)
        replaces = [old.batch for old in (replaced or {}).values()]
        landed = msgspec.structs.replace(entry, writer=self._writer, replaces=replaces)
        try:
            self._create(landed)
        except LedgerError:
            # The number is of another run's claim, under which nothing is stored: these files are ours.
            self._bucket.delete(files)
            raise
        self.on_placed()
        self._commit_to_log()
        shutil.rmtree(staged)

    def columns(self) -> bytes | None:
        """Return the file SCHEMA of the table, None when there is none."""
        return self._bucket.read(SCHEMA)

    def write_columns(self, content: bytes, scratch: Path) -> None:
        """Put `content` in the place of the file SCHEMA."""
        self._bucket.replace(SCHEMA, content)

    def is_settled(self) -> bool:
        """Return whether the log of the table has every batch of the ledger; without a log it has."""
        if self.log is None or self.last is None:
            return True
        with self._told():
            return self.log.committed() >= self.last.batch

    def _create(self, entry: Entry) -> None:
        """Land an entry, unless another run was faster.  Raises: LedgerError."""
        if not self._bucket.create(_key(entry.batch), entry_text(entry)):
            raise LedgerError(
                f"{self.shown}: another run of the job has claimed the table (batch {entry.batch} is its): "
                "nothing of this batch has landed here. Run the job on one machine at a time"
            )
        self.last = entry

    def _claim_entry(self) -> Entry:
        """Return the next entry, which says what the last one says, and lands nothing."""
        if self.last is None:
            return Entry(
                kind="claimed",
                job=self.job,
                batch=0,
                checkpoint="",
                checkpoint_batch=-1,
                ranges=[],
                files=[],
                landed=Totals(),
                total=Totals(),
                positions={},
                landed_at_ms=0,
                writer=self._writer,
            )
        return msgspec.structs.replace(
            self.last,
            kind="claimed",
            batch=self.next_batch,
            ranges=[],
            files=[],
            landed=Totals(),
            reset=None,
            replayed=[],
            merged=[],
            replaces=[],
            writer=self._writer,
        )

    def _remove_leftovers(self) -> list[int]:
        """Remove what was stored under the numbers of claims: their runs can land nothing there any more."""
        claims = []
        for batch in reversed(self.batches()):
            if self.read(batch).kind != "claimed":
                break
            claims.append(batch)
            self._bucket.delete(self._bucket.keys_below(self.folder_name(batch)))
        return claims

    def _commit_to_log(self) -> None:
        """Commit to the log what is in the ledger and not in it, in order."""
        if self.log is None:
            return
        with self._told():
            committed = self.log.committed()
            for batch in range(committed + 1, self.next_batch):
                entry = self.read(batch)
                replaced = {self.folder_name(number): self.read(number) for number in entry.replaces}
                self.log.commit(entry, self.folder_name(batch), replaced)

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what the libraries of the logs raise about the store into one sentence."""
        try:
            yield
        except OSError as error:
            raise StoreError(f"{self.shown}, the table's log: {sentence_of(str(error))}") from error

    def _stored(self, batch: int) -> tuple[str, bytes]:
        path = f"{self.shown}/{_key(batch)}"
        content = self._bucket.read(_key(batch))
        if content is None:
            raise LedgerError(f"{path} has vanished; restore it, or land in another prefix")
        return path, content

    def _check_is_empty(self) -> None:
        """Refuse a prefix in which something is that no job has put there.  Raises: LedgerError."""
        found = next((key for key in self._bucket.all_keys() if not self._may_be_ours(key)), None)
        if found is not None:
            raise LedgerError(
                f"{self.shown} holds {found}, which no land job put there; give the job a prefix of its own"
            )

    def _may_be_ours(self, key: str) -> bool:
        return key.startswith(("_", "metadata/"))


def _key(batch: int) -> str:
    return f"{ENTRIES}/{batch:0{DIGITS}d}.json"
