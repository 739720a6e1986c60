"""`kawal restore`: what it refuses, and what it says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli import main
from tests.console.stored import make_broker_data


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
