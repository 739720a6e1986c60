"""Settings by name are those of the last record, and those before it if it is lost."""

from __future__ import annotations

from broker.catalogue.settings_plan import plan_settings


def test_settings_are_replaced_removed_and_taken_back() -> None:
    table = {"g": {"a": "1"}}
    told: list[dict[str, str]] = []
    confirm, undo = plan_settings(table, "g", {"b": "2"}, lambda: told.append(table.get("g", {})))
    assert table == {"g": {"b": "2"}}
    confirm()
    undo()
    assert table == {"g": {"a": "1"}}
    plan_settings(table, "g", {}, lambda: told.append(table.get("g", {})))
    assert table == {}
    assert told == [{"b": "2"}, {"a": "1"}, {}]
