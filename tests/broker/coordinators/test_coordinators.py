"""Coordinators are made at their first use, and share the broker's clock and its stop."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from broker.coordinators.coordinators import Coordinators
from tests.broker.gateway import Gateway
from tests.broker.groups import commit, committed, joining
from tests.broker.kit import create
from tests.broker.shares import Member, configure


def test_a_node_without_groups_has_no_coordinator() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    gateway.advance(60_000)
    coordinators = gateway.broker.coordinators
    assert coordinators.next_deadline() is None
    coordinators.tick(gateway.now_ms)
    coordinators.reconfigure()
    coordinators.begin_stop(gateway.now_ms)


def test_a_coordinator_is_made_once() -> None:
    coordinators: Coordinators = Gateway().broker
    assert coordinators.groups is coordinators.groups
    assert "broker.coordinators.runtime" in sys.modules


def test_groups_are_loaded_after_a_start_before_anything_is_asked_of_them() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    commit(client, "g", ("t", 0, 1))
    gateway.restart()
    gateway.advance(1)
    assert gateway.broker.coordinators.next_deadline() is not None
    assert gateway.broker.groups.is_loaded
    assert committed(gateway.client(), "g") == {("t", 0): 1}


def test_a_thread_imports_the_coordinators_that_a_start_loads() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    commit(client, "g", ("t", 0, 1))
    gateway.restart()
    tasks: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []
    gateway.broker.scheduler.offload = lambda work, done: tasks.append((work, done))
    gateway.advance(1)
    ((work, done),) = tasks
    assert gateway.broker.coordinators.next_deadline() is None
    work()
    done(None)
    gateway.settle()
    assert gateway.broker.groups.is_loaded


def test_a_thread_imports_what_serves_members_of_share_groups_if_there_are_any(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gateway = Gateway()
    create(gateway.client(), "jobs")
    configure(gateway, share_auto_offset_reset="earliest")
    Member(gateway, "m1", "jobs")
    gateway.restart()
    imported: list[str] = []
    monkeypatch.setattr("broker.coordinators.coordinators.import_module", imported.append)
    gateway.advance(1)
    assert "groups.share.service" in imported


def test_the_nearest_deadline_is_that_of_the_groups() -> None:
    gateway = Gateway(group_initial_rebalance_delay_ms=3_000)
    client = gateway.client()
    member_id = client.call(joining("g"), 4).member_id
    client.send(joining("g", member_id), 4)
    deadline_ms = gateway.broker.coordinators.next_deadline()
    assert deadline_ms is not None
    assert deadline_ms <= gateway.now_ms + 3_000
