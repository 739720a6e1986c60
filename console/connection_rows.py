"""The rows of `kawal cluster connections`."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from broker.server.logs import escaped
from console.admin import check
from console.tables import table
from console.wire import ask
from protocol.messages.kawal_connections import ConnectionInfo, KawalConnectionsRequest

Row = dict[str, Any]

NO_MORE = -1

SHOWN = {
    "address": "ADDRESS",
    "client_id": "CLIENT",
    "software": "SOFTWARE",
    "version": "VERSION",
    "connected": "CONNECTED",
    "idle_seconds": "IDLE S",
    "requests": "REQUESTS",
    "received_bytes": "RECEIVED",
    "sent_bytes": "SENT",
    "memory_bytes": "MEMORY",
    "parked": "PARKED",
}
"""The columns of the table and their headings, after the node of several; sizes are in bytes."""


def read_connections(bootstrap: str) -> tuple[list[Row], list[int]]:
    """Return the connections of all nodes of a Kawal server, and the nodes that have not told theirs.

    Raises: CommandError, NotKawal.
    """
    rows, silent, after = list[Row](), list[int](), 0
    while after != NO_MORE:
        answer = ask(bootstrap, KawalConnectionsRequest(after=after))
        check(answer.error_code, answer.error_message, "asking for connections")
        rows += map(_row, answer.connections)
        silent += answer.silent_nodes
        after = answer.next_after
    return rows, silent


def connections_text(rows: list[Row]) -> str:
    """Return the rows as a table; clients choose their names, so they are escaped."""
    shown = {"node": "NODE", **SHOWN} if any(row["node"] is not None for row in rows) else SHOWN
    cells = [[_shown(row[name]) for name in shown] for row in rows]
    return table(list(shown.values()), cells)


def _shown(value: Any) -> Any:
    if isinstance(value, float):
        return int(value)
    return escaped(value) if isinstance(value, str) else value


def _row(info: ConnectionInfo) -> Row:
    connected = datetime.fromtimestamp(info.connected_ms / 1000, UTC).isoformat(timespec="seconds")
    return {
        "connection": info.connection_id,
        "node": None if info.node_id < 0 else info.node_id,
        "address": info.address,
        "client_id": info.client_id,
        "software": info.software_name or None,
        "version": info.software_version or None,
        "connected": connected.replace("+00:00", "Z"),
        "idle_seconds": info.idle_ms / 1000,
        "requests": info.requests,
        "received_bytes": info.received_bytes,
        "sent_bytes": info.sent_bytes,
        "memory_bytes": info.memory_bytes,
        "unanswered": info.unanswered,
        "parked": info.parked,
    }
