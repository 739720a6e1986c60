"""Rigs under the server: a device whose writes or reads fail for a while, and limits on the memory.

A write-back that fails is told once, by the next fdatasync; the page cache then shows bytes that the device
does not have.  The file system may give up, too: then the server is killed and the device mounted again,
which shows what is really there.
"""

from __future__ import annotations

import os
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final

from reliability.block_device import DEVICE_BYTES, FILE_SYSTEMS, BlockDevice
from reliability.kill_rigs import kill_once, ready_times
from reliability.tools import ToolMissing
from reliability.world import World

FLAG: Final = "fails"
"""As long as this file exists, calls of the device fail."""

CGROUPS: Final = Path("/sys/fs/cgroup/memory")
UNLIMITED: Final = "-1"
LITTLE_BYTES: Final = (20 << 20, 50 << 20)
"""A server that has just started is charged with about 27 MiB, without the files that others use, too."""


def failing_device(world: World, stack: ExitStack, call: str, rate: str) -> None:
    """Put the data on a device whose calls of one kind can fail."""
    flag = world.directory / FLAG
    words = ("--filter=error", "memory", str(DEVICE_BYTES), f"error-{call}=EIO", f"error-{call}-rate={rate}")
    file_system = FILE_SYSTEMS[world.seed % len(FILE_SYSTEMS)]
    world.device = BlockDevice(world.directory, (*words, f"error-{call}-file={flag}"), file_system)
    world.data = stack.enter_context(world.device) / "data"


def prepare_writeback(world: World, stack: ExitStack) -> None:
    """Let all writes of the device fail while the flag is there."""
    failing_device(world, stack, "pwrite", "100%")


def prepare_sectors(world: World, stack: ExitStack) -> None:
    """Let some reads of the device fail while the flag is there."""
    failing_device(world, stack, "pread", "10%")


def failing_writeback(world: World, dose: float) -> dict[str, Any]:
    """Let the write-back fail for a while; the dose counts such times."""
    assert world.device is not None
    kills = gave_up = 0
    flag = world.directory / FLAG
    for _ in range(int(dose)):
        time.sleep(world.random.uniform(0.2, 1.0))
        flag.touch()
        time.sleep(world.random.uniform(0.1, 1.5))
        flag.unlink()
        if not _is_writable(world.device.place):
            gave_up += 1
            kills += kill_once(world)
            world.device.mount_again()
            world.start()
        elif world.random.random() < 0.3:
            kills += kill_once(world)
            world.start()
        world.wait_for_acks(20)
    counts = {"fault_times": int(dose), "kills": kills, "file_system_gave_up": gave_up}
    return {**counts, "file_system": world.device.file_system, **ready_times(world)}


def _is_writable(place: Path) -> bool:
    """Return whether the file system still takes a synced file."""
    probe = place / "probe"
    try:
        descriptor = os.open(probe, os.O_CREAT | os.O_WRONLY)
        try:
            os.write(descriptor, b"probe")
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        probe.unlink()
    except OSError:
        return False
    return True


def bad_sectors(world: World, dose: float) -> dict[str, Any]:
    """Start, with nothing cached, on a device of which some reads fail; the dose counts such starts."""
    assert world.device is not None
    refused = 0
    flag = world.directory / FLAG
    for _ in range(int(dose)):
        kill_once(world)
        world.device.mount_again()
        flag.touch()
        process = world.launch()
        time.sleep(world.random.uniform(1.0, 3.0))
        refused += process.exit_code is not None
        process.kill()
        flag.unlink()
        world.device.mount_again()
        world.start()
        world.wait_for_acks(20)
    counts = {"fault_times": int(dose), "refused_starts": refused}
    return {**counts, "file_system": world.device.file_system, **ready_times(world)}


def prepare_memory(world: World, stack: ExitStack) -> None:
    """Let the server run in a memory cgroup of its own."""
    if not (CGROUPS / "memory.limit_in_bytes").exists():
        raise ToolMissing(f"{CGROUPS} is no memory cgroup (v1): mount -t cgroup -o memory none {CGROUPS}")
    group = CGROUPS / f"kawal-{os.getpid()}"
    group.mkdir()
    stack.callback(group.rmdir)
    stack.callback(world.close)
    world.cgroup = group
    join = 'echo $$ > "$1" && shift && exec "$@"'
    world.wrapper = ("sh", "-c", join, "sh", str(group / "cgroup.procs"))


def little_memory(world: World, dose: float) -> dict[str, Any]:
    """Start the server with little memory, and take some away while it works; the dose counts such times.

    Where it needs more, the kernel kills it: during the start, or under load.
    """
    assert world.cgroup is not None
    limit, killed = world.cgroup / "memory.limit_in_bytes", 0
    for _ in range(int(dose)):
        kill_once(world)
        limit.write_text(str(world.random.randrange(*LITTLE_BYTES)))
        process = world.launch()
        time.sleep(world.random.uniform(0.5, 2.5))
        used = int((world.cgroup / "memory.usage_in_bytes").read_text())
        with suppress(OSError):  # the kernel may find no page to take away
            limit.write_text(str(int(used * world.random.uniform(0.7, 1.0))))
        time.sleep(world.random.uniform(0.2, 1.0))
        killed += process.exit_code is not None
        process.kill()
        limit.write_text(UNLIMITED)
        world.start()
        world.wait_for_acks(20)
    return {"squeezes": int(dose), "killed_by_kernel": killed, **ready_times(world)}
