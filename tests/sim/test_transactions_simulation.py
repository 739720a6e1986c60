"""Transactions under chance: every promise of exactly once is kept, whatever crashes, whatever comes late.

KAWAL_SIM_TXN_SEEDS says how many seeds are run, KAWAL_SIM_FIRST which one is the first, KAWAL_SIM_TXN_STRIDE
before how many disk calls the power fails once (1: before each). A failure names its seed:

    KAWAL_SIM_FIRST=4711 KAWAL_SIM_TXN_SEEDS=1 pytest tests/sim/test_transactions_simulation.py
"""

from __future__ import annotations

import pytest

from groups.transactions.states import ANSWERS, TransactionState
from tests.sim.seeds import FIRST, seed_count, seeds_of
from tests.sim.transactions_cases import CrashAtCall, LateEnds
from tests.sim.transactions_client import TV1, TV2
from tests.sim.transactions_simulation import TransactionsSimulation

SEEDS = seed_count(40, "KAWAL_SIM_TXN_SEEDS")
GROUPS = 4
LATE_ENDS = 1_000

STRIDE = seed_count(16, "KAWAL_SIM_TXN_STRIDE")
"""The power fails before every so many disk calls; 1 for all of them."""


@pytest.mark.parametrize("group", range(GROUPS))
def test_every_promise_of_transactions_is_kept_whatever_happens(group: int) -> None:
    for seed in seeds_of(group, GROUPS, SEEDS):
        TransactionsSimulation(seed).run()


def test_crashes_meet_transactional_ids_in_every_state() -> None:
    seed, met = FIRST, set[TransactionState]()
    while met != set(ANSWERS):
        assert seed < FIRST + 4 * SEEDS, f"only {met}"
        met |= set(TransactionsSimulation(seed).run().crashed_in)
        seed += 1


def test_the_same_seed_gives_the_same_trace() -> None:
    assert TransactionsSimulation(5).run().trace == TransactionsSimulation(5).run().trace


@pytest.mark.parametrize("goes_on", [True, False], ids=["same instance", "new instance"])
@pytest.mark.parametrize("protocol", [TV1, TV2])
def test_a_crash_at_any_disk_call_leaves_whole_transactions(protocol: int, goes_on: bool) -> None:
    seed = FIRST + protocol
    call = seed % STRIDE
    while not CrashAtCall(seed, call, protocol=protocol, goes_on=goes_on).run().is_over:
        call += STRIDE
    assert call > 30


def test_an_end_that_comes_after_the_next_transaction_began_never_touches_it() -> None:
    delivered, seed = 0, FIRST
    while delivered < LATE_ENDS:
        delivered += LateEnds(seed).run().delivered
        seed += 1
