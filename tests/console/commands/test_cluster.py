"""`kawal cluster`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console import connection_rows
from console.cli import main
from protocol.messages.api_versions import ApiVersionsRequest
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.console.gateway import connect
from wal.memory_objects import MemoryObjects, ObjectFault


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


def test_the_copies_of_the_nodes_are_shown_from_the_store_alone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    stores = {0: MemoryObjects(), 1: MemoryObjects(lambda _call: ObjectFault.AWAY)}
    monkeypatch.setattr("console.node_copies.stores_of", lambda _config: stores)
    flags = ["--data", str(tmp_path), "--set", "kawal.remote.store=s3://logs/kawal"]
    assert main(["cluster", "copies", *flags]) == 1
    heading, first, second, told = capsys.readouterr().out.splitlines()
    assert heading.split()[:4] == ["NODE", "PLACE", "STATE", "EPOCH"]
    assert "no copy" in first
    assert "store away" in second
    assert told.startswith("node 1: ")
    shared = [
        "--set",
        "kawal.cluster.nodes=a:9092,b:9092",
        "--set",
        f"kawal.cluster.secret.file={tmp_path}/s",
    ]
    assert main(["cluster", "copies", *shared, *flags]) == 1, "no --node is needed"
    assert "no copy" in capsys.readouterr().out
    assert main(["cluster", "copies", "--set", "kawal.workers=2", *flags]) == 1
    heading, *_, told = capsys.readouterr().out.splitlines()
    assert heading.split()[0] == "WORKER"
    assert told.startswith("worker 1: ")
    del stores[1]
    assert main(["cluster", "copies", "--json", *flags]) == 0
    (tree,) = json.loads(capsys.readouterr().out)
    assert (tree["node"], tree["state"], tree["epoch"]) == (0, "no copy", None)


def test_copies_without_a_store_are_refused_with_a_sentence(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["cluster", "copies", "--data", str(tmp_path)]) == 2
    assert "kawal.remote.store" in capsys.readouterr().err
