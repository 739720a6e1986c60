"""Tables of Delta Lake: our own Parquet files, added to the table's log with an application transaction.

The transaction's application is the job and its version the number of the batch (Delta protocol, "Transaction
Identifiers"): one file of the log says that the batch's files belong to the table and that the batch has
landed. No JVM takes part; `deltalake` writes the log.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from pipeline.columns import Column, parse_stored, struct_json
from pipeline.errors import LedgerError
from pipeline.ledger import Entry, sync_path
from pipeline.shape import DERIVED_TYPES
from pipeline.table_note import TableNote

if TYPE_CHECKING:
    from deltalake import DeltaTable

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
"""The folder in which Spark and Hive put rows without a value in the partition column."""


class DeltaLog:
    """The log of the Delta table in `folder`, as job `job` writes it; `note` has its columns and folders."""

    def __init__(self, folder: Path, *, job: str, note: TableNote) -> None:
        self.folder = folder
        self.app_id = f"kawal.{job}"
        self.note = note

    def committed(self) -> int:
        """Return the number of the last batch of this job in the log, -1 when there is none."""
        table = self._open()
        version = None if table is None else table.transaction_version(self.app_id)
        return -1 if version is None else int(version)

    def commit(self, entry: Entry, folder: Path, removed: Mapping[str, Entry]) -> None:
        """Commit a batch: one file of the log, which appears as a whole, synced with its folder."""
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import DeltaError

        note = entry.table or self.note
        schema = delta_schema(note)
        table = self._made(schema, note)
        properties = CommitProperties(
            custom_metadata={"kawal.job": entry.job, "kawal.batch": str(entry.batch)},
            app_transactions=[Transaction(self.app_id, entry.batch, entry.landed_at_ms)],
        )
        actions = [*_adds(entry, folder), *_removes(removed, entry.landed_at_ms)]
        try:
            table.create_write_transaction(
                actions,
                mode="append",
                schema=schema,
                partition_by=note.partition_by,
                commit_properties=properties,
            )
        except DeltaError as error:
            raise LedgerError(
                f"the Delta table {self.folder} does not take batch {entry.batch}: {error}; if another "
                "writer has "
                "changed it, run the job again"
            ) from error
        self._sync()

    def files(self) -> list[Path]:
        """Return the files of the table's newest version."""
        table = self._open()
        paths = [] if table is None else table.get_add_actions(flatten=True)["path"].to_pylist()
        return [self.folder / path for path in paths]

    def _open(self) -> DeltaTable | None:
        from deltalake import DeltaTable

        return DeltaTable(self.folder) if DeltaTable.is_deltatable(str(self.folder)) else None

    def _made(self, schema: Any, note: TableNote) -> DeltaTable:
        """Return the table, made if there is none, with every column of `schema`."""
        from deltalake import DeltaTable

        table = self._open()
        if table is None:
            return DeltaTable.create(
                self.folder, schema, partition_by=note.partition_by, name=self.folder.name
            )
        known = {field.name for field in table.schema().fields}
        new = [field for field in schema.fields if field.name not in known]
        if new:
            table.alter.add_columns(new)
        return table

    def _sync(self) -> None:
        """Make the newest file of the log survive a power cut; deltalake leaves that to the system."""
        log = self.folder / "_delta_log"
        newest = max(log.glob("*.json"))
        sync_path(newest)
        sync_path(log)
        sync_path(self.folder)


def _adds(entry: Entry, folder: Path) -> list[Any]:
    from deltalake.transaction import AddAction

    return [
        AddAction(
            path=f"{folder.name}/{file.path}",
            size=file.size_bytes,
            partition_values=partition_values(file.path),
            modification_time=entry.landed_at_ms,
            data_change=entry.kind != "compacted",
            stats=json.dumps({"numRecords": file.rows}),
        )
        for file in entry.files
    ]


def _removes(removed: Mapping[str, Entry], now_ms: int) -> list[Any]:
    from deltalake.transaction import RemoveAction

    return [
        RemoveAction(f"{folder}/{file.path}", False, now_ms, file.size_bytes, partition_values(file.path))
        for folder, entry in removed.items()
        for file in entry.files
    ]


def delta_schema(note: TableNote) -> Any:
    """Return the schema of a table; partition columns made from the record's time are columns of it."""
    from deltalake import Schema

    derived = {name: DERIVED_TYPES[name] for name in note.partition_by if name not in note.columns}
    columns = tuple(Column(name, parse_stored(kind)) for name, kind in {**note.columns, **derived}.items())
    return Schema.from_json(json.dumps(struct_json(columns)))


def partition_values(path: str) -> dict[str, str | None]:
    """Return the partition columns that a file's folders name; None where there is no value."""
    folders = [part.partition("=") for part in path.split("/")[:-1]]
    return {name: None if value == NULL_FOLDER else unquote(value) for name, _, value in folders}
