"""`kawal audit`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from console.cli import main

EVENTS = [
    {"time": "2026-11-23T10:00:00.000Z", "event": "login.ok", "user": "User:alice", "outcome": "ok"},
    {"time": "2026-11-23T11:00:00.000Z", "event": "topic.created", "user": "User:\x1b[2J", "outcome": "ok"},
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "audit.log"
    path.write_text("".join(json.dumps(event) + "\n" for event in EVENTS) + "{torn\n")
    return path


def test_events_are_printed_and_torn_lines_are_counted(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", str(path)]) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[1].startswith("2026-11-23T10:00:00.000Z  login.ok  ok  User:alice")
    assert "\x1b" not in out
    assert err == "kawal: 1 lines are no events, as a crash can leave them\n"


def test_filters_and_json(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", str(path), "--json", "--user", "User:alice", "--since", "2026-11-23T09:00"]) == 0
    assert json.loads(capsys.readouterr().out) == EVENTS[0]
    assert main(["audit", str(path), "--json", "--event", "topic", "--since", "2026-11-23T10:30"]) == 0
    assert json.loads(capsys.readouterr().out) == EVENTS[1]


def test_the_file_comes_from_the_settings(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    settings = path.with_name("server.properties")
    settings.write_text(f"kawal.audit.file={path}\n")
    assert main(["audit", "--config", str(settings), "--json"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 2


def test_without_a_file_the_usage_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KAWAL_CONFIG", raising=False)
    assert main(["audit"]) == 2
    assert "there is no audit log: name its file" in capsys.readouterr().err
