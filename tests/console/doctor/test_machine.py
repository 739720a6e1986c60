"""Versions, memory, limits and clock."""

from __future__ import annotations

from typing import Any

import pytest

from broker.config.config import config_of
from console.doctor.finding import Finding
from console.doctor.machine import check_clock, check_limits, check_memory, check_versions
from tests.console.doctor.machine import FakeFacts

CONFIG = config_of({})


def verdicts(findings: Any) -> list[str]:
    return [finding.verdict for finding in findings]


def only(findings: Any) -> Finding:
    (found,) = findings
    assert isinstance(found, Finding)
    return found


def test_versions_are_what_was_asked_for() -> None:
    assert verdicts(check_versions(FakeFacts())) == ["ok"]


@pytest.mark.parametrize(
    ("packages", "verdict", "words"),
    [
        ({"trio": None}, "problem", "the package trio is missing"),
        ({"trio": "1.1.9"}, "warning", "trio 1.1.9 is not the version kawal was tested with"),
        ({"trio": "2.0"}, "warning", "(>=1.2,<2)"),
    ],
)
def test_packages_that_do_not_fit_are_named(packages: dict[str, Any], verdict: str, words: str) -> None:
    found = list(check_versions(FakeFacts(packages=packages)))[1]
    assert found.verdict == verdict
    assert words in found.text


def test_an_old_python_is_a_problem() -> None:
    assert next(check_versions(FakeFacts(python=(3, 9, 2)))).verdict == "problem"


def test_few_open_files_are_few_clients() -> None:
    assert verdicts(check_limits(FakeFacts(), CONFIG)) == ["ok"]
    found = only(check_limits(FakeFacts(open_files=1024), CONFIG))
    assert "1024 open files leave room for 768 clients" in found.text
    assert "ulimit -n" in found.advice
    config = config_of({"max.connections": 2_000_000})
    assert "max.connections is 2000000" in only(check_limits(FakeFacts(), config)).text


def test_memory_must_do_for_what_clients_may_take() -> None:
    assert verdicts(check_memory(FakeFacts(), CONFIG)) == ["ok"]
    assert verdicts(check_memory(FakeFacts(memory=(8 << 30, 100 << 20)), CONFIG)) == ["warning"]
    greedy = config_of({"queued.max.request.bytes": 9 << 30})
    assert "clients may fill" in only(check_memory(FakeFacts(), greedy)).text


def test_a_clock_years_behind_is_a_problem_and_one_nobody_keeps_a_warning() -> None:
    assert verdicts(check_clock(FakeFacts())) == ["ok"]
    assert verdicts(check_clock(FakeFacts(synchronised=None))) == ["ok"]
    assert verdicts(check_clock(FakeFacts(synchronised=False))) == ["warning"]
    assert verdicts(check_clock(FakeFacts(wall_seconds=1_000))) == ["problem"]
