"""Clients are remembered up to a number, and up to a length of their names."""

from __future__ import annotations

import pytest

from broker.coordinators import remembered
from broker.coordinators.remembered import Remembered


def test_the_newest_clients_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "CLIENTS_MAX", 2)
    table: Remembered[int] = Remembered()
    table.put(("h", "a"), 1)
    table.put(("h", "b"), 2)
    table.put(("h", "a"), 3)
    table.put(("h", "c"), 4)
    assert [table.get(("h", name)) for name in "abc"] == [3, None, 4]
    assert len(table) == 2


def test_long_names_take_the_place_of_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "TEXT_MAX", 100)
    table: Remembered[int] = Remembered()
    for number in range(20):
        table.put(("h", f"{number:05}"), number)
    assert len(table) == 20
    table.put(("h", "x" * 90), 20)
    assert len(table) == 3
    table.put(("h", "y" * 200), 21)
    assert len(table) == 1, "one is always remembered"
    table.clear()
    table.put(("h", "z" * 100), 22)
    table.put(("h", ""), 23)
    assert len(table) == 2
