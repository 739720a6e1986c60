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
from pipeline.folder_values import folder_values
from pipeline.ledger import Entry, sync_path
from pipeline.shape import DERIVED_TYPES
from pipeline.table_note import TableNote

if TYPE_CHECKING:
    from deltalake import DeltaTable


class DeltaLog:
    """The log of the Delta table in `folder`, as job `job` writes it; `note` has its columns and folders.

    A table in a bucket has an address for its folder, and `options` that say how to reach it.
    """

    def __init__(
        self, folder: Path | str, *, job: str, note: TableNote, options: Mapping[str, str] | None = None
    ) -> None:
        self.folder = folder
        self._options = dict(options) if options else None
        self.app_id = f"kawal.{job}"
        self.note = note

    def committed(self) -> int:
        """Return the number of the last batch of this job in the log, -1 when there is none."""
        table = self._open()
        version = None if table is None else table.transaction_version(self.app_id)
        return -1 if version is None else int(version)

    def commit(self, entry: Entry, folder: str, removed: Mapping[str, Entry]) -> None:
        """Commit a batch: one file of the log, which appears as a whole, synced with its folder."""
        from deltalake import CommitProperties, Transaction
        from deltalake.exceptions import DeltaError

        note = entry.table or self.note
        schema = delta_schema(note)
        before = self._version()
        table = self._made(schema, note)
        committed = table.transaction_version(self.app_id)
        if committed is not None and committed >= entry.batch:
            return
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
        self._sync(before, self._version())

    def files(self) -> list[str]:
        """Return the paths of the files of the table's newest version; the log has them URL-encoded."""
        table = self._open()
        paths = [] if table is None else table.get_add_actions(flatten=True)["path"].to_pylist()
        return [unquote(path) for path in paths]

    def _open(self) -> DeltaTable | None:
        from deltalake import DeltaTable

        if not DeltaTable.is_deltatable(str(self.folder), self._options):
            return None
        return DeltaTable(self.folder, storage_options=self._options)

    def _made(self, schema: Any, note: TableNote) -> DeltaTable:
        """Return the table, made if there is none, with every column of `schema`."""
        from deltalake import DeltaTable

        table = self._open()
        if table is None:
            return DeltaTable.create(
                self.folder,
                schema,
                partition_by=note.partition_by,
                name=Path(self.folder).name,
                storage_options=self._options,
            )
        known = {field.name for field in table.schema().fields}
        new = [field for field in schema.fields if field.name not in known]
        if new:
            table.alter.add_columns(new)
        return table

    def _version(self) -> int:
        """Return the newest version in the log of a folder, as far as its names say; -1 without one."""
        if isinstance(self.folder, str):
            return -1
        names = [path.name for path in (self.folder / "_delta_log").glob("*.json")]
        return max((int(name[:-5]) for name in names if name[:-5].isdigit()), default=-1)

    def _sync(self, before: int, version: int) -> None:
        """Make the log from version `before` on survive a power cut; deltalake leaves that to the system.

        A killed run may not have synced the last version. What a bucket has acknowledged is stored.
        """
        if isinstance(self.folder, str):
            return
        log = self.folder / "_delta_log"
        numbers = range(max(0, before), version + 1)
        names = [f"{number:020d}.{kind}" for number in numbers for kind in ("json", "checkpoint.parquet")]
        for path in [log / name for name in [*names, "_last_checkpoint"]]:
            if path.is_file():
                sync_path(path)
        sync_path(log)
        sync_path(self.folder)


def _adds(entry: Entry, folder: str) -> list[Any]:
    from deltalake.transaction import AddAction

    return [
        AddAction(
            path=f"{folder}/{file.path}",
            size=file.size_bytes,
            partition_values=folder_values(file.path),
            modification_time=entry.landed_at_ms,
            data_change=entry.kind != "compacted",
            stats=json.dumps({"numRecords": file.rows}),
        )
        for file in entry.files
    ]


def _removes(removed: Mapping[str, Entry], now_ms: int) -> list[Any]:
    from deltalake.transaction import RemoveAction

    return [
        RemoveAction(f"{folder}/{file.path}", False, now_ms, file.size_bytes, folder_values(file.path))
        for folder, entry in removed.items()
        for file in entry.files
    ]


def delta_schema(note: TableNote) -> Any:
    """Return the schema of a table; partition columns made from the record's time are columns of it."""
    from deltalake import Schema

    derived = {name: DERIVED_TYPES[name] for name in note.partition_by if name not in note.columns}
    columns = tuple(Column(name, parse_stored(kind)) for name, kind in {**note.columns, **derived}.items())
    return Schema.from_json(json.dumps(struct_json(columns)))
