"""The comparison of a job with the table that it is to land in; it needs neither Spark nor a broker."""

from __future__ import annotations

from pipeline.config import Job
from pipeline.ledger import Ledger
from pipeline.shape import shape_of
from pipeline.table_note import TableNote, fitted, note_of


def fit_table(job: Job, ledger: Ledger) -> tuple[TableNote, list[str]]:
    """Return the note of the job's table, and a sentence for each change that the table takes.

    Raises: LedgerError for changes that it cannot take.
    """
    now = note_of(job, shape_of(job))
    if ledger.last is None:
        return now, []
    before = ledger.last.table
    if before is not None:
        note, widened = fitted(ledger.shown, before, now)
        return note, [
            f"the table takes a {sentence}" if sentence.startswith("new") else sentence
            for sentence in widened
        ]
    from pipeline.table_files import note_of_files  # needs pyarrow

    upgraded = "the ledger is of format 1; the next batch to land adds topic ids and columns to it"
    before = note_of_files(ledger, now)
    if before is None:
        return now, [upgraded]
    note, widened = fitted(ledger.shown, before, now)
    return note, [upgraded, *widened]
