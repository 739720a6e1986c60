"""The first check of retention beside settings of groups: a thread imports their coordinator."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module

import pytest

from broker.loop.slices import run_here
from broker.upkeep import retention
from tests.broker.gateway import Gateway
from tests.broker.test_regular_work import MINUTE_MS

ABSENT = "wave"
"""A module of Python that nothing here uses: it stands for one that was not imported yet."""


def test_the_coordinator_of_groups_is_imported_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, ABSENT, raising=False)
    monkeypatch.setattr(retention, "GROUPS_MODULE", ABSENT)
    gateway = Gateway()
    gateway.broker.catalogue.group_configs["g"] = {"kawal.retention.important": "true"}
    imported: list[bool] = []

    def offload(work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        before = ABSENT in sys.modules
        run_here(work, done)
        imported.append(not before and ABSENT in sys.modules)

    gateway.broker.scheduler.offload = offload
    gateway.advance(10 * MINUTE_MS)
    assert True in imported
    assert gateway.broker.next_deadline() is not None, "it is done again"


def test_one_that_another_thread_is_importing_is_waited_for_by_a_thread() -> None:
    """It is in sys.modules from its beginning on: the event loop waited for the rest of it."""
    gateway = Gateway()
    gateway.broker.catalogue.group_configs["g"] = {"kawal.retention.important": "true"}
    import_module(retention.GROUPS_MODULE)
    assert retention.GROUPS_MODULE in sys.modules
    waiting: list[Callable[[], object]] = []
    gateway.broker.scheduler.offload = lambda work, _done: waiting.append(work)
    gateway.advance(10 * MINUTE_MS)
    assert len(waiting) == 1
    assert not gateway.broker.retention.looked_at
