"""The checklist of overload: what once stopped the server, the event loop or other clients, and its tests.

Each entry names unit tests, and hostile loads (`load:NAME`) of `python -m compat_tests.overload`, which puts
them on a server beside clients that behave.  A test or load that is renamed is missed here.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.overload_rules import CHECKLIST, MEMORY, NET, OPERATORS
from tests.test_security_checklist import ROOT, names_of


@cache
def loads() -> frozenset[str]:
    """Return the names of the hostile loads, as their files register them."""
    found = set()
    for path in (ROOT / "compat_tests" / "overload").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "load":
                found |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    return frozenset(str(name) for name in found)


def is_there(place: str) -> bool:
    path, _, name = place.partition("::")
    if path.startswith("load:"):
        return path.removeprefix("load:") in loads()
    return Path(ROOT / path).exists() and name in names_of(path)


ALL: Final = {**NET, **OPERATORS, **CHECKLIST}


@pytest.mark.parametrize("rule", ALL)
def test_each_rule_has_its_tests(rule: str) -> None:
    assert [place for place in ALL[rule] if not is_there(place)] == []


def test_a_test_and_a_load_that_are_not_there_are_missed() -> None:
    assert not is_there("load:no-such-load")
    assert not is_there(f"{MEMORY}::test_no_such_test")
