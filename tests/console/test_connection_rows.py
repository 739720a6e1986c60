"""Rows of connections: from every answer, in words and units for people and programs."""

from __future__ import annotations

from typing import Any

import pytest

from console import connection_rows
from console.connection_rows import connections_text, read_connections
from console.errors import CommandError
from protocol.messages.kawal_connections import (
    ConnectionInfo,
    KawalConnectionsRequest,
    KawalConnectionsResponse,
)


def info(number: int, **changes: Any) -> ConnectionInfo:
    values: dict[str, Any] = {
        "connection_id": number,
        "address": "10.0.0.9:5000",
        "client_id": "spark",
        "software_name": "apache-kafka-java",
        "software_version": "4.3.1",
        "connected_ms": 1_700_000_000_000,
        "idle_ms": 2_500,
        "requests": 12,
        "received_bytes": 340,
        "sent_bytes": 5600,
        "memory_bytes": 78,
        "unanswered": 2,
        "parked": 1,
    }
    return ConnectionInfo(**values | changes)


def test_all_answers_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = {
        0: KawalConnectionsResponse(connections=[info(1), info(4)], next_after=4),
        4: KawalConnectionsResponse(connections=[info(9)]),
    }

    def ask(_bootstrap: str, request: KawalConnectionsRequest) -> KawalConnectionsResponse:
        return answers[request.after]

    monkeypatch.setattr(connection_rows, "ask", ask)
    rows, silent = read_connections("b")
    assert silent == []
    assert [row["connection"] for row in rows] == [1, 4, 9]
    assert rows[0] == {
        "connection": 1, "node": None, "address": "10.0.0.9:5000", "client_id": "spark",
        "software": "apache-kafka-java", "version": "4.3.1", "connected": "2023-11-14T22:13:20Z",
        "idle_seconds": 2.5, "requests": 12, "received_bytes": 340, "sent_bytes": 5600, "memory_bytes": 78,
        "unanswered": 2, "parked": 1,
    }  # fmt: skip


def test_of_several_nodes_each_row_has_its_node_and_silent_ones_are_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = {
        0: KawalConnectionsResponse(connections=[info(1, node_id=7)], next_after=1 << 48),
        1 << 48: KawalConnectionsResponse(connections=[], silent_nodes=[8]),
    }
    monkeypatch.setattr(connection_rows, "ask", lambda _, request: answers[request.after])
    rows, silent = read_connections("b")
    assert ([row["node"] for row in rows], silent) == ([7], [8])
    heading, line = connections_text(rows).splitlines()
    assert (heading.split()[0], line.split()[0]) == ("NODE", "7")


def test_a_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = KawalConnectionsResponse(error_code=31, error_message="not allowed", connections=[])
    monkeypatch.setattr(connection_rows, "ask", lambda *_: answer)
    with pytest.raises(CommandError, match="not allowed"):
        read_connections("b")


def test_a_table_shows_no_control_characters_of_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = KawalConnectionsResponse(connections=[info(1, client_id="\x1b[2J", software_name="")])
    monkeypatch.setattr(connection_rows, "ask", lambda *_: answer)
    heading, line = connections_text(read_connections("b")[0]).splitlines()
    assert heading.split()[:3] == ["ADDRESS", "CLIENT", "SOFTWARE"]
    assert line.split()[:3] == ["10.0.0.9:5000", "\\x1b[2J", "-"]
