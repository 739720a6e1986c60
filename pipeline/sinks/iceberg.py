"""Tables of Iceberg: our own Parquet files, added to the table by one commit that also names the batch.

The number of the last batch is a property of the table and of the snapshot (`kawal.JOB.batch`), changed by
the same commit that adds the files: the catalog replaces the pointer to the table's metadata at once, or not
at all. No JVM takes part; `pyiceberg` writes the metadata.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipeline.catalog_checks import database_of
from pipeline.columns import ColumnType, parse_stored
from pipeline.errors import LedgerError, SetupError
from pipeline.ledger import Entry
from pipeline.places import uri
from pipeline.shape import DERIVED_TYPES
from pipeline.table_note import TableNote

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

NAMESPACE = "kawal"
"""The namespace of tables without a name of their own."""


TABLE_PROPERTIES: dict[str, str] = {
    "format-version": "2",
    # A commit costs what the manifests and the older metadata cost that it lists: without a merge, one
    # manifest for each batch there ever was.
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "20",
}
"""The properties of tables that we make."""

KEPT = "history.expire.min-snapshots-to-keep"
KEPT_SNAPSHOTS = 50
"""The job's own snapshots that stay, unless the table's property KEPT says otherwise.

Every commit writes the table's metadata anew, with all of its snapshots: 500 of them made a commit ten times
as expensive as the first.
"""


class IcebergLog:
    """The metadata of the Iceberg table in `folder`, as job `job` writes it; in a bucket, its address.

    `properties` are those of the catalog, `name` is the table's in it.
    """

    def __init__(
        self, folder: Path | str, *, job: str, note: TableNote, properties: Mapping[str, str], name: str = ""
    ) -> None:
        self.folder = folder
        self._location = folder if isinstance(folder, str) else uri(folder)
        self.property = f"kawal.{job}.batch"
        self.note = note
        self.name = name or f"{NAMESPACE}.{Path(folder).name}"
        self._properties = dict(properties)
        if isinstance(folder, Path):
            # What a bucket has acknowledged is stored; files on a disk are synced before they are pointed to.
            self._properties.setdefault("py-io-impl", "pipeline.sinks.synced_io.SyncedFileIO")
        self._catalog: Catalog | None = None

    def committed(self) -> int:
        """Return the number of the last batch of this job in the table, -1 when there is none."""
        table = self._table()
        return -1 if table is None else int(table.properties.get(self.property, "-1"))

    def commit(self, entry: Entry, folder: str, removed: Mapping[str, Entry]) -> None:
        """Commit a batch: one change of the catalog's pointer, after the metadata it points to is synced."""
        from pyiceberg.exceptions import CommitFailedException

        assert not removed, "files of Iceberg tables are not replaced"
        note = entry.table or self.note
        table = self._table() or self._make(note)
        if int(table.properties.get(self.property, "-1")) >= entry.batch:
            return
        try:
            with table.transaction() as change:
                self._widen(change, table, note)
                if entry.files:
                    change.add_files(
                        [f"{self._location}/{folder}/{file.path}" for file in entry.files],
                        snapshot_properties={self.property: str(entry.batch)},
                        check_duplicate_files=False,
                    )
                change.set_properties({self.property: str(entry.batch)})
        except CommitFailedException as error:
            raise LedgerError(
                f"the Iceberg table {self.name} does not take batch {entry.batch}: {error}; if another "
                "writer has "
                "changed it, run the job again"
            ) from error
        self._expire(table)

    def _expire(self, table: Table) -> None:
        """Expire our older snapshots, half of them at a time; those with a tag or a branch stay."""
        from pyiceberg.exceptions import CommitFailedException

        kept = max(1, int(table.properties.get(KEPT, str(KEPT_SNAPSHOTS))))
        named = {ref.snapshot_id for ref in table.metadata.refs.values()}
        own = [
            held.snapshot_id for held in table.snapshots() if held.summary and self.property in held.summary
        ]
        if len(own) < 2 * kept:
            return
        try:
            expired = [number for number in own[:-kept] if number not in named]
            table.maintenance.expire_snapshots().by_ids(expired).commit()
        except CommitFailedException:
            return  # another writer was faster: the next batch expires them

    def files(self) -> list[str]:
        """Return the paths of the files of the table's newest snapshot."""
        table = self._table()
        tasks = [] if table is None else table.scan().plan_files()
        return [task.file.file_path.removeprefix(f"{self._location}/") for task in tasks]

    def _open(self) -> Catalog:
        from pyiceberg.catalog import load_catalog

        if self._catalog is None:
            if (database := database_of(self._properties)) is not None:
                database.parent.mkdir(parents=True, exist_ok=True)
            try:
                self._catalog = load_catalog("kawal", **self._properties)
            except Exception as error:
                # Its other properties may be keys.
                shown = {name: self._properties.get(name) for name in ("type", "uri")}
                raise SetupError(
                    f"the Iceberg catalog {shown} cannot be opened: {_told(error)}; see sink.catalog"
                ) from error
        return self._catalog

    def _table(self) -> Table | None:
        database = database_of(self._properties)
        if database is not None and not database.exists():
            return None  # a look makes no file
        catalog = self._open()
        return catalog.load_table(self.name) if catalog.table_exists(self.name) else None

    def _make(self, note: TableNote) -> Table:
        from pyiceberg.partitioning import PartitionField, PartitionSpec
        from pyiceberg.transforms import IdentityTransform

        schema = iceberg_schema(note)
        fields = [
            PartitionField(schema.find_field(name).field_id, 1_000 + at, IdentityTransform(), name)
            for at, name in enumerate(note.partition_by)
        ]
        catalog = self._open()
        catalog.create_namespace_if_not_exists(self.name.rpartition(".")[0])
        return catalog.create_table(
            self.name,
            schema=schema,
            location=self._location,
            partition_spec=PartitionSpec(*fields),
            properties=TABLE_PROPERTIES,
        )

    def _widen(self, change: Any, table: Table, note: TableNote) -> None:
        """Add the columns that the table lacks, and widen those whose type has become wider."""
        known = {field.name: field.field_type for field in table.schema().fields}
        wanted = {field.name: field.field_type for field in iceberg_schema(note).fields}
        new = {name: kind for name, kind in wanted.items() if name not in known}
        wider = {
            name: kind for name, kind in wanted.items() if name in known and str(known[name]) != str(kind)
        }
        wider = {name: kind for name, kind in wider.items() if kind.is_primitive}
        if not new and not wider:
            return
        with change.update_schema() as update:
            for name, kind in new.items():
                update.add_column(name, kind)
            for name, kind in wider.items():
                update.update_column(name, kind)


def _told(error: Exception) -> str:
    """Return what an error says on its first line: databases add their statement below it."""
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


def catalog_properties(given: Mapping[str, str], database: Path, table: Path) -> dict[str, str]:
    """Return the properties of the catalog: those that were given, else of a SQLite file beside the table.


    A table in a bucket always has those that were given.
    """
    return dict(given) or {
        "type": "sql",
        "uri": f"sqlite:///{database}",
        "warehouse": uri(table.parent),
    }


def iceberg_schema(note: TableNote) -> Any:
    """Return the schema of a table, with field numbers in the order of the columns."""
    import pyarrow
    from pyiceberg.io.pyarrow import _pyarrow_to_schema_without_ids
    from pyiceberg.schema import assign_fresh_schema_ids

    from pipeline.arrow_rows import arrow_type

    derived = {name: DERIVED_TYPES[name] for name in note.partition_by if name not in note.columns}
    columns: dict[str, ColumnType] = {
        name: parse_stored(kind) for name, kind in {**note.columns, **derived}.items()
    }
    schema = pyarrow.schema([(name, arrow_type(kind)) for name, kind in columns.items()])
    return assign_fresh_schema_ids(_pyarrow_to_schema_without_ids(schema))
