"""Circles of imports: files that name each other can only be read together, type imports included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.test_house import PACKAGES, ROOT, python_files

KNOWN = {
    frozenset({"broker.catalogue.topic", "broker.storage.partition"}),
    frozenset({"views.bounds", "views.plan"}),
    frozenset({"protocol.compiled", "protocol.decoder_source", "protocol.encoder_source", "protocol.wire"}),
    frozenset({"kawal_pytest.host", "kawal_pytest.kawal_broker"}),
}
"""Circles that stay; ARCHITECTURE.md gives the reason of each."""


def name_of(path: Path) -> str:
    inside = path.relative_to(ROOT).with_suffix("")
    return ".".join(inside.parts[:-1] if inside.name == "__init__" else inside.parts)


def imported(path: Path, modules: set[str]) -> Iterator[str]:
    """Yield the modules that a file names, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                if inner in modules or node.module in modules:
                    yield inner if inner in modules else node.module


def circles(graph: dict[str, set[str]]) -> set[frozenset[str]]:
    """Return the sets of modules that lead to each other, by what each one leads to."""
    reached: dict[str, set[str]] = {}
    for start in graph:
        found, pending = set[str](), [start]
        while pending:
            for name in graph[pending.pop()] - found:
                found.add(name)
                pending.append(name)
        reached[start] = found
    return {
        frozenset(other for other in reached[name] if name in reached[other])
        for name in graph
        if name in reached[name]
    }


def test_a_circle_is_found() -> None:
    graph = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"e2"}, "e2": {"e"}, "f": set[str]()}
    assert circles(graph) == {frozenset("abc"), frozenset({"e", "e2"})}


def test_there_are_no_circles_but_the_known_ones() -> None:
    paths = {name_of(path): path for path in python_files(*PACKAGES)}
    graph = {name: set(imported(path, set(paths))) - {name} for name, path in paths.items()}
    assert circles(graph) == KNOWN
