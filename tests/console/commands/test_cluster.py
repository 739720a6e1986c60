"""`kawal cluster`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
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
