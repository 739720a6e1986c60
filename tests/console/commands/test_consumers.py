"""`kawal consumers`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from console.commands import consumers
from console.group_rows import CONSUMER_COLUMNS, GroupRows

ROW = {
    **dict.fromkeys(CONSUMER_COLUMNS),
    "group": "g",
    "consumer": "c-1",
    "status": "ready",
    "topics": ["a", "b"],
    "idle_seconds": 3.4,
}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str] | None]:
    found: list[list[str] | None] = []

    def read(_: str, group_ids: list[str] | None) -> GroupRows:
        found.append(group_ids)
        return GroupRows(consumers=[] if group_ids == ["missing"] else [ROW])

    monkeypatch.setattr(consumers, "read_groups", read)
    return found


def test_consumers_are_shown_as_a_table(asked: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split()[:2] == ["GROUP", "CONSUMER"]
    assert row.split() == ["g", "c-1", "-", "-", "ready", "a,b", "-", "-", "3", "s"]


def test_json_has_every_column(asked: list[list[str] | None], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers", "--json", "--group", "g", "--group", "h"]) == 0
    [row] = json.loads(capsys.readouterr().out)
    assert list(row) == list(CONSUMER_COLUMNS)
    assert row["idle_seconds"] == 3.4
    assert asked == [["g", "h"]]


def test_nobody_is_told(asked: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consumers", "-g", "missing"]) == 0
    assert capsys.readouterr().out == "no consumers\n"
