"""The rigs by name: what each needs before the server starts, what it does, and what it judges afterwards."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Final, NamedTuple

from compat_tests.broker import HOST, free_port
from reliability import device_rigs, fault_rigs, kill_rigs, mixed_rig, power_loss
from reliability.check import Anomalies
from reliability.proxy import FaultProxy
from reliability.world import World


def _nothing(world: World, stack: ExitStack) -> None:
    """Prepare nothing."""


def _no_more(world: World, dose: float) -> Anomalies:
    """Judge nothing beside the history."""
    return {}


class Rig(NamedTuple):
    """One way to break a gateway."""

    breaking: Callable[[World, float], dict[str, Any]]
    """Breaks it, as often as the dose says; returns counts for the ledger."""
    prepare: Callable[[World, ExitStack], None] = _nothing
    """Prepares what it needs, before the server starts."""
    afterwards: Callable[[World, float], Anomalies] = _no_more
    """Judges what is left, once the server has ended."""


def put_proxy_before(world: World, stack: ExitStack) -> None:
    """Let clients connect through a proxy."""
    world.proxy = FaultProxy(free_port(), (HOST, world.port))
    stack.callback(world.proxy.close)
    world.advertise(HOST, world.proxy.port)


def fill_soon(world: World, stack: ExitStack) -> None:
    """Put the data on a small file system."""
    world.data = stack.enter_context(fault_rigs.Tmpfs(world.directory / "tmpfs")) / "data"


def fake_clock(world: World, stack: ExitStack) -> None:
    """Let a file move the server's wall clock."""
    del stack
    world.wrapper = fault_rigs.clock_environment(world)


def prepare_all(world: World, stack: ExitStack) -> None:
    """Prepare for every fault of the mix."""
    put_proxy_before(world, stack)
    fill_soon(world, stack)
    fake_clock(world, stack)


RIGS: Final[dict[str, Rig]] = {
    "kill": Rig(kill_rigs.kill),
    "kill-at-call": Rig(kill_rigs.kill_at_call),
    "failing-calls": Rig(fault_rigs.failing_calls),
    "pause": Rig(fault_rigs.pause),
    "clock": Rig(fault_rigs.clock, fake_clock),
    "full-disk": Rig(fault_rigs.full_disk, fill_soon),
    "network": Rig(fault_rigs.network, put_proxy_before),
    "mixed": Rig(mixed_rig.mixed, prepare_all),
    "failing-writeback": Rig(device_rigs.failing_writeback, device_rigs.prepare_writeback),
    "bad-sectors": Rig(device_rigs.bad_sectors, device_rigs.prepare_sectors),
    "memory": Rig(device_rigs.little_memory, device_rigs.prepare_memory),
    "power-loss": Rig(power_loss.load, power_loss.prepare, power_loss.fail_power),
}
