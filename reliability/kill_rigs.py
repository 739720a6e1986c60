"""Rigs that end the process: at any moment, during recovery, and at the n-th call of a kind."""

from __future__ import annotations

import statistics
import time
from typing import Any, Final

from compat_tests.kawal_broker import READY
from reliability.tools import need
from reliability.world import World

RECOVERY_SECONDS: Final = 0.9
"""Kills after a start come within this time: a start takes about half of it."""

CALLS_MAX: Final = {
    "fdatasync": 40, "pwritev": 40, "fsync": 6, "rename": 6, "openat": 300, "ftruncate": 4, "fallocate": 4,
    "unlink": 3, "sendmsg": 60, "pread64": 60,
}  # fmt: skip
"""The calls to be killed at, each with the highest number: a few seconds of work have more of them."""

REACHED_SECONDS: Final = 5
"""The time in which the call must come."""


def kill(world: World, dose: float) -> dict[str, Any]:
    """SIGKILL at random moments under load, also during the recovery that follows; the dose counts kills."""
    kills = in_recovery = 0
    while kills < dose:
        time.sleep(world.random.uniform(0.05, 1.0))
        kills += kill_once(world)
        while kills < dose and world.random.random() < 0.35:
            process = world.launch()
            time.sleep(world.random.uniform(0.0, RECOVERY_SECONDS))
            in_recovery += READY not in process.output()
            kills += kill_once(world)
        world.start()
        world.wait_for_acks(20)
    return {"kills": kills, "kills_in_recovery": in_recovery, **ready_times(world)}


def kill_once(world: World) -> int:
    """Kill the server and return 1."""
    assert world.process is not None
    world.process.kill()
    world.history.add("server", "crash", "info")
    return 1


def ready_times(world: World) -> dict[str, float]:
    """Return how long the server took to be ready again."""
    return {
        "ready_p50": round(statistics.median(world.ready_seconds), 2),
        "ready_max": round(max(world.ready_seconds), 2),
    }


def strace(world: World, inject: str) -> tuple[str, ...]:
    """Return the words before the server's command that inject faults into its calls; it keeps its pid."""
    call = inject.partition(":")[0]
    log = world.directory / "strace.log"
    return (
        "strace",
        "-D",
        "-f",
        "--seccomp-bpf",
        "-qq",
        "-o",
        str(log),
        "-e",
        f"trace={call}",
        "-e",
        f"inject={inject}",
    )


def kill_at_call(world: World, dose: float) -> dict[str, Any]:
    """Kill at the n-th call of a kind, at work and during the start; the dose counts kills."""
    need("strace")
    kills = in_start = 0
    while kills < dose:
        assert world.process is not None
        world.process.kill()
        call = world.random.choice(tuple(CALLS_MAX))
        number = world.random.randint(1, CALLS_MAX[call])
        process = world.launch(strace(world, f"{call}:signal=KILL:when={number}"))
        deadline = time.monotonic() + REACHED_SECONDS
        while process.exit_code is None and time.monotonic() < deadline:
            time.sleep(0.02)
        if process.exit_code is not None:
            kills += 1
            in_start += READY not in process.output()
            world.history.add("server", "crash", "info", value=f"{call} {number}")
        process.kill()
        world.start()
        world.wait_for_acks(20)
    return {"kills": kills, "kills_in_start": in_start, **ready_times(world)}
