"""All faults in turn, at random, on one server: what one fault leaves behind meets the next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from compat_tests.kawal_broker import READY
from reliability.fault_rigs import (
    NETWORK_FAULTS,
    fail_calls_once,
    fill_once,
    jump_once,
    network_fault,
    pause_once,
)
from reliability.kill_rigs import RECOVERY_SECONDS, kill_once, ready_times
from reliability.tools import need
from reliability.world import World

WEIGHTS: Final = {"kill": 10, "fill": 2, "pause": 2, "jump": 2, "failing-calls": 1} | dict.fromkeys(
    NETWORK_FAULTS, 1
)


def mixed(world: World, dose: float) -> dict[str, Any]:
    """Break it in one way after the other; the dose counts minutes."""
    need("strace")
    ends = time.monotonic() + 60 * dose
    counts: Counter[str] = Counter()
    faults: dict[str, Callable[[], object]] = {
        "kill": lambda: _kill(world, counts),
        "fill": lambda: counts.update(kills=fill_once(world)),
        "pause": lambda: pause_once(world),
        "jump": lambda: jump_once(world),
        "failing-calls": lambda: fail_calls_once(world),
        **{name: partial(network_fault, world, name) for name in NETWORK_FAULTS},
    }
    while time.monotonic() < ends:
        time.sleep(world.random.uniform(0.05, 0.5))
        (name,) = world.random.choices(tuple(WEIGHTS), tuple(WEIGHTS.values()))
        world.history.add("server", "fault", "info", value=name)
        faults[name]()
        counts[f"fault-{name}"] += 1
        world.wait_for_acks(20)
    counts["kills"] += counts["fault-cut_and_kill"] + 2 * counts["fault-failing-calls"]
    return {"minutes": dose, **counts, **ready_times(world)}


def _kill(world: World, counts: Counter[str]) -> None:
    """Kill, sometimes again during the start, and start."""
    counts["kills"] += kill_once(world)
    while world.random.random() < 0.35:
        process = world.launch()
        time.sleep(world.random.uniform(0.0, RECOVERY_SECONDS))
        counts["kills_in_recovery"] += READY not in process.output()
        counts["kills"] += kill_once(world)
    world.start()
