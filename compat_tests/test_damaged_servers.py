"""Real servers on damaged stores; `python -m reliability damaged` is the full dose."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from compat_tests.broker import free_port
from reliability.damaged_servers import Place, ask_damaged, try_states
from tests.sim.damage import write_out
from tests.sim.full_store import full_verdict, made_full

STATES = int(os.environ.get("COMPAT_DAMAGED_STORES", "6"))


@pytest.mark.only_kawal
def test_a_server_on_a_damaged_store_comes_up_with_the_rest_and_is_repaired(tmp_path: Path) -> None:
    counts, found = try_states(tmp_path, seed=11, dose=STATES)
    assert not found
    assert counts["starts"] == 2 * STATES


@pytest.mark.only_kawal
def test_a_server_that_tells_something_else_would_be_found(tmp_path: Path) -> None:
    now_ms = int(time.time() * 1_000)
    store = made_full("killed", now_ms)
    fact = next(fact for fact in store.expected if fact[0] == "group")
    untrue = store._replace(expected={**store.expected, fact: 99})
    verdict = full_verdict(store.disk, store.expected, now_ms)
    place = Place(tmp_path, free_port())
    write_out(store.disk, place.data)
    with pytest.raises(AssertionError, match="instead of 99"):
        ask_damaged(untrue, verdict, place)
