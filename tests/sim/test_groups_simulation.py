"""The group coordinator under lossy links, pauses, crashes, failing disks and clock jumps.

KAWAL_SIM_SEEDS says how many worlds are simulated (some 12 to 50 ms each), KAWAL_SIM_FIRST where to begin. A
failure names its seed, which `run(seed)` repeats exactly:

    KAWAL_SIM_FIRST=4711 KAWAL_SIM_SEEDS=1 pytest tests/sim/test_groups_simulation.py
"""

from __future__ import annotations

import pytest

from tests.sim import groups_seeds
from tests.sim.groups_history import History
from tests.sim.groups_seeds import BrokenWorld, run_on_all_cores
from tests.sim.groups_simulation import run
from tests.sim.seeds import FIRST, seed_count

SEEDS = seed_count(1_000)
ENOUGH = 200
"""The number of worlds in which everything happens that can happen."""


def test_no_world_breaks_an_invariant_of_groups() -> None:
    happened = run_on_all_cores(FIRST, SEEDS)
    if ENOUGH <= SEEDS:
        missing = {
            *("acknowledged", "refused", "restarts", "lost appends", "pauses", "members", "static members"),
            *("eager", "cooperative", "consumer", "assignments", "epochs", "clock jumps", "partitions added"),
        } - {what for what, count in happened.items() if count >= SEEDS // 100}
        assert not missing, f"hardly ever happened: {missing} of {happened}"


def test_a_seed_repeats_its_world_exactly() -> None:
    first, second = run(7), run(7)
    assert first.world.log == second.world.log
    assert first.world.now_ms == second.world.now_ms
    assert any(first.world.log.values())


def test_worlds_differ_in_what_happens() -> None:
    histories = [run(seed) for seed in range(40)]
    assert len({str(history.world.log) for history in histories}) == len(histories)


def test_some_worlds_are_crowded() -> None:
    assert max(len(run(seed).members) for seed in range(150)) >= 20


def test_a_broken_world_tells_its_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(seed: int) -> History:
        assert seed != 12, "a member owns what is another's"
        return run(seed)

    monkeypatch.setattr(groups_seeds, "run", breaks)
    with pytest.raises(BrokenWorld, match=r"seed 12: .*another's(?s:.*)KAWAL_SIM_FIRST=12") as caught:
        groups_seeds.run_seeds(11, 2)
    assert isinstance(caught.value.__cause__, AssertionError)
