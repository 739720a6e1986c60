"""Share groups as text, for `kawal queues`."""

from __future__ import annotations

from typing import Any, Final

from broker.server.logs import escaped
from console.tables import Cell, table

Row = dict[str, Any]

LISTED: Final = ("group", "state", "members", "topics", "under_way", "oldest", "backlog")
MEMBERS: Final = (
    "member",
    "client_id",
    "host",
    "status",
    "window",
    "pending",
    "slots",
    "idle",
    "assigned",
)
PARTITIONS: Final = (
    "topic",
    "partition",
    "start",
    "end",
    "acquired",
    "available",
    "released",
    "acknowledged",
    "archived",
    "archiving",
    "deliveries",
    "backlog",
    "oldest",
)


def listed_text(rows: list[Row]) -> str:
    """Return the list of groups."""
    return _table(LISTED, rows) if rows else "no share groups"


def described_text(row: Row) -> str:
    """Return a group with its members, partitions and counters."""
    parts = [f"group {escaped(row['group'])}   state {row['state']}   assignor {row['assignor'] or '-'}"]
    parts.append(_table(MEMBERS, row["members"]) if row["members"] else "no members")
    parts.append(_table(PARTITIONS, row["partitions"]) if row["partitions"] else "nothing was read yet")
    parts += [
        f"{escaped(partition['topic'])}-{partition['partition']}: {partition['error']}"
        for partition in row["partitions"]
        if partition["error"]
    ]
    if row["counters"] is not None:
        counted = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in row["counters"].items())
        parts.append(f"records since the server's start: {counted}")
    return "\n".join(parts)


def _table(names: tuple[str, ...], rows: list[Row]) -> str:
    headings = [name.upper().replace("_", " ") for name in names]
    return table(headings, [[_cell(row, name) for name in names] for row in rows])


def _cell(row: Row, name: str) -> Cell:
    if name in ("idle", "oldest"):
        seconds = row[f"{name}_seconds"]
        return None if seconds is None else f"{seconds:.1f} s"
    value = row[name]
    if isinstance(value, list):
        return escaped(",".join(value)) or None
    if isinstance(value, dict):
        return " ".join(f"{count}:{records}" for count, records in value.items()) or None
    return escaped(value) if isinstance(value, str) else value
