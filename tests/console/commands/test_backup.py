"""`kawal backup` on a data directory on the real disk."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from console.cli import main
from tests.console.stored import make_broker_data


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return make_broker_data(tmp_path)


def test_a_backup_is_made_listed_and_restored(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "backups"
    assert main(["backup", "--data", str(data), "--to", str(folder)]) == 0
    first = capsys.readouterr().out
    assert first.startswith(f"{folder}/2")
    assert "2 logs" in first
    assert "0 bytes linked, every byte checked" in first
    assert main(["backup", "--to", str(folder), "--list"]) == 0
    assert capsys.readouterr().out.startswith(f"{folder}/2")
    again = tmp_path / "again"
    assert main(["restore", str(folder), "--data", str(again)]) == 0
    assert f"restored to {again}: cluster" in capsys.readouterr().out
    assert (again / "kawal.json").read_bytes() == (data / "kawal.json").read_bytes()
    assert main(["wal", "verify", str(again)]) == 0


def test_the_next_backup_links_and_old_ones_can_be_removed(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "backups"
    trees = []
    for _ in range(3):
        assert main(["backup", "--data", str(data), "--to", str(folder), "--keep", "2", "--json"]) == 0
        trees.append(json.loads(capsys.readouterr().out))
    assert [tree["linked_bytes"] > 300_000 for tree in trees] == [False, True, True]
    assert trees[2]["removed"] == [os.path.basename(trees[0]["path"])]
    assert main(["backup", "--to", str(folder), "--list", "--json"]) == 0
    listed = [json.loads(line)["path"] for line in capsys.readouterr().out.splitlines()]
    assert listed == [tree["path"] for tree in trees[1:]]


def test_what_an_interrupted_backup_left_is_removed_and_told_of(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    left = tmp_path / "backups" / "20200101T000000Z.partial"
    (left / "meta").mkdir(parents=True)
    assert main(["backup", "--data", str(data), "--to", str(tmp_path / "backups"), "--rate", "100"]) == 0
    assert f"{left}: removed; an interrupted backup had left it" in capsys.readouterr().out
    assert not left.exists()


def test_the_data_directory_is_that_of_the_configuration(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAWAL_LOG_DIRS", str(data))
    assert main(["backup", "--to", str(tmp_path / "backups")]) == 0
    monkeypatch.setenv("KAWAL_NUM_PARTITIONS", "none")
    assert main(["backup", "--to", str(tmp_path / "backups")]) == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--to", "{data}/backups", "--data", "{data}"], "lies in the data directory"),
        (["--to", "{data}/../b", "--data", "{data}/meta"], "not a data directory"),
        (["--to", "b", "--data", "{data}", "--keep", "0"], "--keep is 0"),
        (["--to", "b", "--data", "{data}", "--rate", "-1"], "--rate is -1"),
        (["--to", "{data}/none", "--list"], "no such file"),
        (["--data", "{data}"], "--to"),
    ],
)
def test_what_cannot_be_done_is_said(
    data: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(["backup", *(word.format(data=data) for word in words)]) in (1, 2)
    assert said in capsys.readouterr().err
