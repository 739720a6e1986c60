"""`kawal cluster`."""

from __future__ import annotations

import json

import pytest

from console import connection_rows
from console.cli import main
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.console.gateway import connect


def test_nodes_sizes_and_features_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = connect(monkeypatch, node_id=7, broker_rack="r1")
    client = gateway.client()
    create(client, "orders", partitions=3)
    send(client, "orders", batch(b"v" * 100))
    assert main(["cluster", "describe", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["topics"], shown["partitions"], shown["controller"]) == (1, 3, 7)
    (node,) = shown["nodes"]
    assert (node["id"], node["address"], node["rack"]) == (7, "gateway:9092", "r1")
    (place,) = node["directories"]
    assert place["path"] == "/data"
    assert place["size_bytes"] > 100
    assert shown["features"]["metadata.version"] > 0
    assert main(["cluster", "describe"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"cluster {shown['id']}: 1 node, 1 topic, 3 partitions, ")
    assert lines[3].split()[:3] == ["7", "gateway:9092", "(controller)"]


def test_the_connected_clients_are_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gateway = Gateway()
    client = gateway.client()
    client.call(ApiVersionsRequest(client_software_name="kgo", client_software_version="1.2"), 3)
    monkeypatch.setattr(connection_rows, "ask", lambda _bootstrap, request: client.call(request, 0))
    assert main(["cluster", "connections"]) == 0
    heading, line = capsys.readouterr().out.splitlines()
    assert heading.split()[-2:] == ["MEMORY", "PARKED"]
    assert line.split()[:4] == ["10.0.0.9:5000", "test", "kgo", "1.2"]
    assert main(["cluster", "connections", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["software"], row["requests"]) == ("kgo", 3)
