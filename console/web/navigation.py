"""The pages that every page leads to, and the key that follows `g` for each."""

from __future__ import annotations

from typing import Final, NamedTuple


class Place(NamedTuple):
    """A page of the navigation."""

    label: str
    path: str
    key: str


PLACES: Final = (
    Place("Overview", "/", "o"),
    Place("Topics", "/topics", "t"),
    Place("Groups", "/groups", "g"),
    Place("Queues", "/queues", "u"),
    Place("Transactions", "/transactions", "x"),
    Place("SQL", "/sql", "q"),
    Place("Map", "/map", "m"),
    Place("Databases", "/databases", "d"),
    Place("Access", "/acls", "a"),
    Place("Logs", "/logs", "l"),
    Place("Health", "/health", "h"),
    Place("Settings", "/settings", "s"),
)
