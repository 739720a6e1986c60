"""A job against its table, before anything is started."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from pipeline.errors import LedgerError
from pipeline.table_check import fit_table
from pipeline.table_note import TableNote
from tests.pipeline.made import job, land, open_ledger
from tests.pipeline.test_table_files import landed

COLUMNS = {"n": "int", "topic": "string", "partition": "int", "offset": "bigint", "timestamp": "timestamp"}


def test_a_new_table_takes_any_job(tmp_path: Path) -> None:
    note, changes = fit_table(job(tmp_path), open_ledger(tmp_path))
    assert (list(note.columns)[:2], changes) == (["key", "value"], [])


def test_a_change_that_widens_is_said(tmp_path: Path) -> None:
    ledger = land(tmp_path, (0, 5), table=TableNote(columns=COLUMNS))
    edited = job(tmp_path, schema={"mode": "json", "columns": "n bigint", "key": "none"})
    note, changes = fit_table(edited, ledger)
    assert (note.columns["n"], changes) == ("bigint", ["column 'n' becomes bigint, from int"])


def test_a_ledger_of_format_1_is_compared_by_its_files_and_upgraded(tmp_path: Path) -> None:
    ledger = landed(
        tmp_path,
        "a.parquet",
        n=pa.int32(),
        topic=pa.string(),
        partition=pa.int32(),
        offset=pa.int64(),
        timestamp=pa.timestamp("us", "UTC"),
    )
    same = job(tmp_path, schema={"mode": "json", "columns": "n int", "key": "none"})
    note, changes = fit_table(same, ledger)
    assert note.columns == COLUMNS
    assert changes == ["the ledger is of format 1; the next batch to land adds topic ids and columns to it"]
    edited = job(tmp_path, schema={"mode": "json", "columns": "n string", "key": "none"})
    with pytest.raises(LedgerError, match="column 'n' is int in the table, but string in the job"):
        fit_table(edited, ledger)
