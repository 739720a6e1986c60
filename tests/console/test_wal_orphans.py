"""`kawal wal orphans` and `adopt`: streams whose topic the catalogue forgot are shown, and read again."""

from __future__ import annotations

import json
from pathlib import Path
from shutil import copytree, rmtree
from typing import Any

import pytest

from console.cli import main
from console.errors import CommandError
from console.wal_orphans import offline_broker, show
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, read, send
from wal.disk import OsDisk
from wal.store import Store
from wal.store_marker import StoreIdentity


class DiskGateway(Gateway):
    """A gateway over a directory of the real disk, in which a server makes small files."""

    def __init__(self, path: Path) -> None:
        disk: Any = OsDisk()
        super().__init__(disk, log_dirs=str(path), kawal_vnodes=2, kawal_segment_bytes=1 << 16)

    def stop(self) -> None:
        self.broker.begin_stop(self.now_ms)
        self.settle()
        self.broker.close(self.now_ms)


@pytest.fixture
def forgetful(tmp_path: Path) -> Path:
    """Return a data directory whose catalogue is older than its topic of two partitions."""
    data, backup = tmp_path / "data", tmp_path / "backup"
    DiskGateway(data).stop()
    copytree(data / "meta", backup)
    gateway = DiskGateway(data)
    create(gateway.client(), "lost", 2)
    for index in (0, 1):
        send(gateway.client(), "lost", batch(b"%d" % index), index)
    gateway.stop()
    rmtree(data / "meta")
    copytree(backup, data / "meta")
    return data


def test_orphans_are_shown_with_their_place_and_size(
    forgetful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wal", "orphans", str(forgetful)]) == 0
    lines = sorted(capsys.readouterr().out.splitlines())
    assert [line.split(" on ")[0] for line in lines] == ["stream 1", "stream 2"]
    assert all(line.endswith("offsets 0 to 0, 69 bytes") for line in lines)
    assert main(["wal", "orphans", str(forgetful), "--json"]) == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {(tree["stream"], tree["log_end"]) for tree in found} == {(1, 1), (2, 1)}


def test_an_adopted_topic_is_read_and_nothing_is_an_orphan_any_more(
    forgetful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wal", "adopt", str(forgetful), "found", "--streams", "1-2"]) == 0
    assert capsys.readouterr().out == "topic 'found' has 2 partitions: streams 1 to 2\n"
    assert main(["wal", "orphans", str(forgetful)]) == 0
    assert "every stream belongs to a topic" in capsys.readouterr().out
    gateway = DiskGateway(forgetful)
    assert [read(gateway.client(), "found", partition=index) for index in (0, 1)] == [[b"0"], [b"1"]]
    gateway.stop()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["found", "--streams", "x"], "neither a number"),
        (["found", "--streams", "2-1"], "the lower number first"),
        (["found", "--streams", "7-9"], "no log has any of them"),
        (["found", "--streams", "1", "--database", "other"], "no database 'other'"),
        (["no/name", "--streams", "1"], "INVALID_TOPIC_EXCEPTION"),
    ],
)
def test_what_cannot_be_adopted_is_told(
    forgetful: Path, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wal", "adopt", str(forgetful), *arguments]) != 0
    assert complaint in capsys.readouterr().err


def test_streams_of_a_topic_that_exists_are_not_adopted(
    forgetful: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["wal", "adopt", str(forgetful), "found", "--streams", "1"]) == 0
    assert main(["wal", "adopt", str(forgetful), "found", "--streams", "2"]) == 1
    assert "already exists" in capsys.readouterr().err
    assert main(["wal", "adopt", str(forgetful), "other", "--streams", "1-2"]) == 1
    assert "streams 1 belong to topics that exist" in capsys.readouterr().err


def test_a_directory_that_is_none_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["wal", "orphans", str(tmp_path)]) == 1
    assert "is not a data directory" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_directory_is_closed_cleanly_after_use(forgetful: Path) -> None:
    for _ in range(2):
        with offline_broker(str(forgetful)) as broker:
            assert len(broker.topics.orphans) == 2


def test_the_directory_of_a_node_is_refused_as_its_topics_are_known_to_running_nodes_alone(
    tmp_path: Path,
) -> None:
    identity = StoreIdentity(cluster_id="c", node_id=1, secret="00", node=1, nodes=2)
    Store.open(OsDisk(), str(tmp_path), new_identity=identity, now_ms=0, records=[]).close(0)
    with pytest.raises(CommandError, match="the directory of node 1 of 2 nodes: which streams belong to"):
        list(show(str(tmp_path), as_json=False))
