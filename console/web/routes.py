"""The table of all pages: what is not in it is not served, and the rules are tested for each of its rows.

A pattern is a path whose segments are words or `{names}`; a name matches one segment, whatever it holds once
decoded (console/web/fields.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from console.web.fields import name_of
from console.web.pages import (
    acls,
    alias,
    audit,
    columns,
    database_changes,
    databases,
    flow,
    group,
    group_changes,
    group_lag,
    groups,
    health,
    login,
    logs,
    message,
    overview,
    partitions,
    preferences,
    produce,
    queue_changes,
    queues,
    quotas,
    records,
    sample,
    searching,
    splits,
    sql,
    tail,
    tokens,
    topic,
    topic_changes,
    topic_config,
    topics,
    transactions,
    users,
)
from console.web.visit import Route

PAGES = (
    overview,
    topics,
    topic,
    topic_changes,
    topic_config,
    records,
    groups,
    group,
    group_changes,
    searching,
    columns,
    alias,
    sql,
    flow,
    databases,
    tail,
    preferences,
    produce,
    login,
    health,
    partitions,
    database_changes,
    sample,
    group_lag,
    logs,
    queues,
    queue_changes,
    transactions,
    acls,
    users,
    quotas,
    splits,
    message,
    tokens,
    audit,
)
"""The modules of pages; each has its own ROUTES."""

ROUTES: tuple[Route, ...] = tuple(route for module in PAGES for route in module.ROUTES)


class Match(NamedTuple):
    """A row of the table for a path, and the names in the path."""

    route: Route
    names: Mapping[str, str]


class Table:
    """The routes, found by method and path."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._routes = [(route, route.pattern.split("/")) for route in routes]

    def find(self, method: str, path: str) -> Match | None:
        """Return the route for a request; HEAD is GET without the body."""
        wanted = "GET" if method == "HEAD" else method
        parts = path.split("/")
        for route, pattern in self._routes:
            if route.method == wanted and (names := _names(pattern, parts)) is not None:
                return Match(route, names)
        return None

    def methods(self, path: str) -> list[str]:
        """Return the methods that a path takes."""
        parts = path.split("/")
        found = {route.method for route, pattern in self._routes if _names(pattern, parts) is not None}
        return sorted(found | {"HEAD"} if "GET" in found else found)


def _names(pattern: list[str], parts: list[str]) -> dict[str, str] | None:
    """Return the names in a path that fits a pattern; a word goes before a name only by the table's order."""
    if len(pattern) != len(parts):
        return None
    names: dict[str, str] = {}
    for wanted, part in zip(pattern, parts, strict=True):
        if wanted.startswith("{") and part:
            names[wanted[1:-1]] = name_of(part)
        elif wanted != part:
            return None
    return names
