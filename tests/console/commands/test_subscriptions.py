"""`kawal subscriptions`."""

from __future__ import annotations

import json

import pytest

from console.cli import main
from console.commands import subscriptions
from console.group_rows import SUBSCRIPTION_COLUMNS, GroupRows


def row(topic: str, lag: int) -> dict[str, object]:
    numbers = {"partition": 0, "offset": None, "end": lag, "lag": lag, "lag_seconds": 2.25, "rows": 0}
    return {**dict.fromkeys(SUBSCRIPTION_COLUMNS), "topic": topic, "group": "g", **numbers}


@pytest.fixture(autouse=True)
def rows(monkeypatch: pytest.MonkeyPatch) -> None:
    found = GroupRows(subscriptions=[row("orders", 7), row("payments", 0)])
    monkeypatch.setattr(subscriptions, "read_groups", lambda *_: found)


def test_progress_is_shown_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["subscriptions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:]] == [
        ["orders", "g", "0", "-", "-", "-", "7", "7", "2.2", "0"],
        ["payments", "g", "0", "-", "-", "-", "0", "0", "2.2", "0"],
    ]


def test_topics_are_chosen(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["subscriptions", "--json", "--topic", "payments"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["topic"] for row in found] == ["payments"]
    assert list(found[0]) == list(SUBSCRIPTION_COLUMNS)
    assert main(["subscriptions", "-t", "other"]) == 0
    assert capsys.readouterr().out == "no subscriptions\n"
