"""`kawal restore`: what it refuses, and what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from console.cli import main
from tests.console.stored import make_broker_data
from tests.wal.remote.copies import Node
from tests.wal.remote.folders import Folder
from tests.wal.remote.workers import known_logs, workers_over
from wal.memory_objects import MemoryObjects
from wal.objects import StoreAway


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return make_broker_data(tmp_path)


@pytest.fixture
def backup(data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["backup", "--data", str(data), "--to", str(tmp_path / "backups"), "--json"]) == 0
    return Path(json.loads(capsys.readouterr().out)["path"])


def test_a_backup_can_be_checked_without_restoring(backup: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", str(backup), "--check"]) == 0
    assert f"{backup}: sound: cluster" in capsys.readouterr().out
    assert main(["restore", str(backup), "--check", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["data"] is None


def test_a_damaged_backup_is_named(backup: Path, capsys: pytest.CaptureFixture[str]) -> None:
    segment = next(backup.glob("meta/*.wal"))
    segment.write_bytes(segment.read_bytes()[:-1] + b"?")
    assert main(["restore", str(backup), "--check"]) == 1
    assert f"{segment}: the file is damaged" in capsys.readouterr().err


def test_a_target_that_is_not_empty_is_refused(
    backup: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["restore", str(backup), "--data", str(data)]) == 1
    assert "not empty" in capsys.readouterr().err


def test_a_folder_without_a_backup_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", str(tmp_path), "--check"]) == 1
    assert "no complete backup is there" in capsys.readouterr().err


@pytest.mark.parametrize("words", [[], ["--data", "d", "--check"]])
def test_either_a_target_or_a_check_is_asked_for(
    words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["restore", "b", *words]) == 2
    assert "give --data DIR to restore to, or --check" in capsys.readouterr().err


def test_a_copy_in_an_object_store_is_not_checked_without_a_restore(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["restore", "s3://bucket/p", "--check"]) == 2
    assert "is checked by restoring it" in capsys.readouterr().err


def test_an_address_that_is_none_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["restore", "s3://B/p", "--data", str(tmp_path / "d")]) == 1
    assert "s3://BUCKET/PREFIX" in capsys.readouterr().err


def test_a_store_that_is_away_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    away = NoSuchStore()
    monkeypatch.setattr("broker.server.object_store.open_store", lambda _place, _folder: away)
    assert main(["restore", "s3://bucket/p", "--data", str(tmp_path / "d")]) == 1
    assert "s3://bucket/p: no answer" in capsys.readouterr().err


def test_two_clusters_under_one_prefix_have_to_be_told_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = MemoryObjects(name="s3://bucket/p")
    for cluster in ("a", "b"):
        store.create(f"{cluster}/cut", b"")
    monkeypatch.setattr("broker.server.object_store.open_store", lambda _place, _folder: store)
    assert main(["restore", "s3://bucket/p", "--data", str(tmp_path / "d")]) == 1
    assert "name one with --cluster: a, b" in capsys.readouterr().err


class NoSuchStore(MemoryObjects):
    """A store that does not answer."""

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        raise StoreAway("s3://bucket/p: no answer")


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["/backups", "--at", "2026-11-22T02:00:00Z"], "--at is for a copy under s3://"),
        (
            ["s3://bucket/kawal", "--at", "yesterday"],
            "--at 'yesterday' is not a time such as 2026-11-22T02:00:00Z",
        ),
    ],
)
def test_a_moment_is_one_of_a_copy_and_a_time(
    words: list[str], problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setattr("broker.server.object_store.open_store", lambda _place, _folder: _copied())
    assert main(["restore", *words, "--data", str(tmp_path / "new")]) == 2
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def _copied() -> MemoryObjects:
    objects = MemoryObjects()
    objects.create("cluster/cut", b"")
    return objects


def test_a_node_is_restored_from_its_own_place(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[str] = []
    node = Node(MemoryObjects())
    node.append(b"one")
    node.round()

    def opened(_place: object, folder: str) -> MemoryObjects:
        asked.append(folder)
        return node.objects

    monkeypatch.setattr("broker.server.object_store.open_store", opened)
    data = str(tmp_path / "d")
    assert main(["restore", "s3://bucket/p", "--node", "2", "--data", data, "--json"]) == 0
    assert asked == ["node-2"]
    assert json.loads(capsys.readouterr().out)["nodes"] == 1
    assert main(["restore", str(tmp_path), "--node", "2", "--data", data]) == 2
    assert "--node is for a copy under s3://" in capsys.readouterr().err
    assert main(["restore", "s3://bucket/p", "--node", "-1", "--data", data]) == 2


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> MemoryObjects:
    """Return a store with the copies of two workers, which the command finds at its places."""
    objects = MemoryObjects(name="s3://bucket/p")
    for worker in workers_over(objects):
        worker.append(b"one")
        worker.round()
    monkeypatch.setattr(
        "broker.server.object_store.open_store", lambda _place, folder: Folder(objects, folder)
    )
    monkeypatch.setattr("broker.start.vnodes_of", known_logs)
    return objects


def test_the_copies_of_all_workers_become_one_directory(
    workers: MemoryObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["restore", "s3://bucket/p", "--data"]
    assert main([*words, str(tmp_path / "a"), "--json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert (tree["workers"], tree["logs"], tree["left_out"]) == (2, 3, [])
    assert main([*words, str(tmp_path / "b")]) == 0
    said = capsys.readouterr().out
    assert "the copies of 2 workers, 3 logs" in said
    assert "come back to each worker's own moment" in said
    assert (tmp_path / "b" / "default" / "vnode-1").is_dir()


def test_a_worker_whose_copy_is_missing_is_named_and_nothing_is_made(
    workers: MemoryObjects, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workers.objects = {key: found for key, found in workers.objects.items() if not key.startswith("node-1")}
    assert main(["restore", "s3://bucket/p", "--data", str(tmp_path / "a")]) == 1
    assert "that of worker 1 cannot be used: s3://bucket/p/node-1: no copy" in capsys.readouterr().err
    assert not (tmp_path / "a").exists()


def test_logs_that_were_left_out_are_told(
    workers: MemoryObjects,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("broker.start.vnodes_of", lambda _records: ["default/vnode-0"])
    assert main(["restore", "s3://bucket/p", "--data", str(tmp_path / "a")]) == 0
    assert "1 logs were left out" in (said := capsys.readouterr().out)
    assert "does not know them: default/vnode-1" in said
