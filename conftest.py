"""Pytest hooks for every test folder: if CI is set, a skipped or expectedly failing test is a failure.

The profile of all Hypothesis tests is here, too: how fast a machine makes examples is no property of ours.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

# A busy machine stops a process for hundreds of milliseconds: of an example, and while examples are made.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

Report = TypeVar("Report", pytest.TestReport, pytest.CollectReport)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge the report of a test that skipped itself, or was marked so."""
    return _strict((yield))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Judge the report of a module that skipped itself while it was imported."""
    return _strict((yield))


def _strict(report: Report) -> Report:
    """Turn a skip into a failure on CI: what is not run there is run nowhere."""
    if report.skipped and os.environ.get("CI"):
        report.outcome = "failed"
        report.longrepr = f"nothing may be skipped where CI is set: {report.longrepr}"
        if hasattr(report, "wasxfail"):
            del report.wasxfail
    return report
