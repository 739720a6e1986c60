"""The job `land`: topics to Parquet by Structured Streaming, each record exactly once.

One batch, from Spark's plan to the table:

    range fixed in the checkpoint ─▶ in the ledger already? done ─▶ begins where the table ends? else refused
      ─▶ good rows to staging ─▶ bad ones beside, or the job stops ─▶ files named ─▶ one rename: landed

`pipeline.ledger` explains why this is exactly once.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import DataFrame

from pipeline import rows
from pipeline.checkpoint import Checkpoint
from pipeline.config import Job
from pipeline.errors import BadRowsError, LedgerError, SourceError
from pipeline.generations import recreated
from pipeline.job_file import duration_ms
from pipeline.ledger import Entry, File, Ledger, Merged, Totals
from pipeline.places import Places
from pipeline.positions import Positions, Range, moved
from pipeline.probe import Probe, no_probe
from pipeline.quarantine import claim, publish_quarantine
from pipeline.shape import Shape
from pipeline.sinks.file_writer import FilesPlan
from pipeline.sinks.parquet import Staged, arrange, stage
from pipeline.sinks.task_files import Layout
from pipeline.table_files import write_schema
from pipeline.table_note import TableNote

SHOWN_BAD_RECORDS = 3
"""The number of bad records named by a job that they stopped: enough to see a pattern on one screen."""


class Planned(NamedTuple):
    """A batch whose range is fixed."""

    query: str
    """The id of Spark's query, or a word for what else has planned it."""
    number: int
    ranges: list[Range]
    positions: Positions
    """The offsets after it, of all partitions."""


@dataclass(slots=True, kw_only=True)
class Land:
    """The landing of one job's batches; `foreachBatch` calls it on a thread of its own."""

    job: Job
    shape: Shape
    places: Places
    ledger: Ledger
    checkpoint: Checkpoint
    note: TableNote
    now_ms: Callable[[], int]
    on_landed: Callable[[Entry], None]
    probe: Probe = no_probe
    topic_ids: Callable[[], Mapping[str, str]] = dict
    """The function that asks the broker for the ids of the job's topics, called at the end of each batch."""
    run: Totals = field(default_factory=Totals)
    """Counts of this run."""
    known_ids: dict[str, str] = field(default_factory=dict)
    failure: Exception | None = None
    """The reason why the last batch did not land: on its way through the JVM an exception becomes text."""

    def __call__(self, records: DataFrame, batch_id: int) -> None:
        """Land one batch, or find that it has landed; keep what is raised in `failure`, too."""
        try:
            self._land(records, batch_id)
        except Exception as error:
            self.failure = error
            raise

    @property
    def begins(self) -> Positions:
        """The positions at which a job without checkpoint goes on."""
        return self.ledger.positions

    def check_fits_table(self) -> None:
        """Refuse a checkpoint that is ahead of the table.  Raises: LedgerError."""
        committed = self.checkpoint.last_committed()
        checkpoint, table, last = self.checkpoint.folder, self.ledger.shown, self.ledger.last
        if committed < 0:
            return
        if last is None:
            raise LedgerError(
                f"{checkpoint} says that {committed + 1} batches have landed, but {table} is empty; restore "
                "the table, or move the checkpoint away to land everything again"
            )
        if last.checkpoint == self.checkpoint.query_id() and last.checkpoint_batch < committed:
            raise LedgerError(
                f"{checkpoint} says that its batch {committed} has landed, but {table} ends with batch "
                f"{last.checkpoint_batch}; restore the rest of the table, or move the checkpoint away to "
                "land it again"
            )

    def _land(self, records: DataFrame, batch_id: int) -> None:
        ranges = self.checkpoint.ranges(batch_id)
        query = self.checkpoint.query_id()
        known = self.ledger.find(query, batch_id)
        if known is not None:
            self._check_same(known, ranges)
            return
        self.land_planned(
            records, Planned(query, batch_id, ranges, self.checkpoint.positions_after(batch_id))
        )

    def land_planned(self, records: DataFrame, planned: Planned) -> None:
        """Land a batch that has not landed yet.  Raises: PipelineError; what Spark raises."""
        query, batch_id, ranges, positions = planned
        self.ledger.check_continues(ranges)
        claim(self.ledger, self.places.quarantine)
        self.probe("planned", batch_id)
        files, landed, newest_ms = self._stage(records, ranges, batch_id)
        entry = Entry(
            job=self.job.name,
            batch=self.ledger.next_batch,
            checkpoint=query,
            checkpoint_batch=batch_id,
            ranges=ranges,
            files=files,
            landed=landed,
            total=self.ledger.total.plus(landed),
            positions=moved(self.ledger.positions, positions),
            landed_at_ms=self.now_ms(),
            topics=self._ids(ranges),
            table=self.note,
            newest_ms=max(newest_ms, self.newest_ms),
        )
        self.probe("staged", batch_id)
        self._publish(entry, batch_id)
        self.probe("landed", batch_id)

    @property
    def newest_ms(self) -> int:
        """The newest timestamp of a record in the table, 0 while there is none."""
        return self.ledger.last.newest_ms if self.ledger.last else 0

    def _ids(self, ranges: list[Range]) -> dict[str, str]:
        """Return the ids of all topics landed so far.  Raises: SourceError when one has been made again
        meanwhile."""
        ids = {**self.topic_ids()}
        made_again = recreated({**self.known_ids, **self.ledger.topics}, ids)
        if made_again:
            raise SourceError(
                f"the topic {made_again[0]!r} was deleted and made again while a batch of it was being "
                "landed; the "
                "batch was given up. Run the job again to learn how to go on"
            )
        self.known_ids = ids
        return {
            **self.ledger.topics,
            **{held.topic: ids[held.topic] for held in ranges if ids.get(held.topic)},
        }

    def _stage(
        self, records: DataFrame, ranges: list[Range], batch_id: int
    ) -> tuple[list[File], Totals, int]:
        """Make the batch in staging: its files under batch/, those of the quarantine under bad/.

        Returns the files, the counts, and the newest timestamp of a record.
        """
        shutil.rmtree(self.places.staging, ignore_errors=True)
        batch_folder = self.places.staging / "batch"
        batch_folder.mkdir(parents=True)
        topics = {held.topic for held in ranges}
        only = topics.pop() if len(topics) == 1 else ""
        staged = stage(records, self._plan_of_files(only))
        self.probe("written", batch_id)
        if staged.unfit:
            self._check_bad(records, staged, only)
            arrange(staged.bad, self.places.staging / "bad", ranges)
        files = arrange(staged.good, batch_folder, ranges)
        landed = Totals(
            batches=1,
            offsets=sum(held.until - held.begin for held in ranges),
            rows=sum(file.rows for file in files),
            bad=staged.unfit,
            late=staged.late,
            files=len(files),
            size_bytes=sum(file.size_bytes for file in files),
            payload_bytes=staged.payload_bytes,
        )
        self._check_counts(landed, staged)
        return files, landed, staged.newest_ms

    def _plan_of_files(self, only: str) -> FilesPlan:
        layout = Layout(
            partition_by=self.shape.partition_by,
            keeps_columns=self.job.sink.kind == "iceberg",
            compression=self.job.sink.compression,
            max_rows_per_file=self.job.sink.max_rows_per_file,
        )
        return FilesPlan(
            shape=self.shape,
            folder=str(self.places.staging / "written"),
            layout=layout,
            topic=only,
            late_before_ms=self.newest_ms - duration_ms(self.job.source.late_after),
            keeps_bad=self.job.errors.mode == "quarantine",
        )

    def _check_bad(self, records: DataFrame, staged: Staged, only: str) -> None:
        """Refuse a batch with bad records, if the job says so.  Raises: BadRowsError, LedgerError."""
        errors, bad = self.job.errors, staged.unfit
        total = self.ledger.total.bad + bad
        if errors.mode == "fail" or 0 < errors.stop_after < total:
            raise BadRowsError(self._bad_sentence(rows.parse(records, self.shape, only), bad, total))
        written = sum(made.rows for made in staged.bad)
        if errors.mode == "quarantine" and written != bad:
            raise LedgerError(f"{bad} records are bad, but {written} were written for the quarantine")

    def _publish(self, entry: Entry, batch_id: int) -> None:
        """Publish first the quarantine, which a repetition replaces, then the batch: all by one rename."""
        publish_quarantine(
            self.places.staging / "bad", self.places.quarantine, job=self.job.name, batch=entry.batch
        )
        self.probe("quarantined", batch_id)
        files = [self.places.staging / "batch" / file.path for file in entry.files]
        if self.ledger.log is None:
            write_schema(self.ledger, self.places.staging / "schema", files)
        self.ledger.on_placed = lambda: self.probe("placed", batch_id)
        self.ledger.publish(self.places.staging / "batch", entry)
        shutil.rmtree(self.places.staging)
        self.run = self.run.plus(entry.landed)
        self.on_landed(entry)

    def _bad_sentence(self, parsed: DataFrame, bad: int, total: int) -> str:
        errors = self.job.errors
        shown = [
            f"{row.topic}-{row.partition} offset {row.offset}: {row.reason}"
            for row in rows.bad_rows(parsed).take(SHOWN_BAD_RECORDS)
        ]
        plural = "" if bad == 1 else "s"
        rule = "errors.mode is 'fail'"
        if errors.mode != "fail":
            rule = f"that makes {total:,} in all, and errors.stop_after is {errors.stop_after:,}"
        return (
            f"{bad:,} bad record{plural} in the next batch, and {rule}; nothing of it has landed:\n  "
            + "\n  ".join(shown)
            + "\nfix the producer or schema.columns, or set errors.mode = 'quarantine' and run again"
        )

    def _check_same(self, known: Merged, ranges: list[Range]) -> None:
        if known.ranges != ranges:
            raise LedgerError(
                f"batch {known.checkpoint_batch} of {self.checkpoint.folder} has other offsets than when it "
                f"landed as batch {known.batch}: the checkpoint is an older copy. Move it away to continue "
                "where the table ends"
            )

    def _check_counts(self, landed: Totals, staged: Staged) -> None:
        """Refuse a batch that has lost or doubled a row between reading and writing.  Raises: LedgerError."""
        lost = landed.rows + landed.bad != staged.kept or (
            not self.shape.view and staged.kept != staged.records
        )
        if lost or not staged.kept <= staged.records <= landed.offsets:
            raise LedgerError(
                f"the batch has {landed.offsets} offsets and {staged.records} records, but {landed.rows} "
                f"rows were written and {landed.bad} are bad; it has not landed: run the job again"
            )
