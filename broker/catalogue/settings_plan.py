"""Settings of nodes, groups and users by name: exactly those of the last record."""

from __future__ import annotations

from collections.abc import Callable

from broker.catalogue.database_table import Halves

Settings = dict[str, dict[str, str]]
Told = Callable[[], None]
"""Called whenever settings have changed."""


def plan_nothing() -> None:
    """Do nothing: the other half of a change that is done in one step, as those of settings are."""


def plan_level(levels: dict[str, int], name: str, level: int) -> Halves:
    """Give a feature another level, as far as is right while its record may still be lost."""
    before = dict(levels)
    levels[name] = level

    def undo() -> None:
        levels.clear()
        levels.update(before)

    return plan_nothing, undo


def plan_settings(table: Settings, name: str, configs: dict[str, str], changed: Told) -> Halves:
    """Apply settings as far as is right while their record may still be lost."""
    before = table.get(name, {})

    def put(settings: dict[str, str]) -> None:
        if settings:
            table[name] = dict(settings)
        else:
            table.pop(name, None)
        changed()

    put(configs)
    return plan_nothing, lambda: put(before)
