"""The rules of benchmarks/gate_cost.py, as a client sends them."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from benchmarks import gate_cost
from benchmarks.gate_requests import RULES, acl_of
from tests.broker.guarded import Guarded


def test_the_rules_on_the_wire_are_those_of_the_brokers_in_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    guarded = Guarded()
    monkeypatch.setattr(gate_cost, "raw_client", contextmanager(lambda _server: iter([guarded.admin])))
    gate_cost.add_rules(None)  # type: ignore[arg-type]  # the client is given
    assert set(guarded.broker.catalogue.acls) == {acl_of(number) for number in range(RULES)}
