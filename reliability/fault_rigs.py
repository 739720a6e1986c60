"""Rigs that leave the process alive: failing calls, a full disk, pauses, clock jumps, a bad network."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any, Final

from reliability.kill_rigs import kill_once, ready_times, strace
from reliability.tools import need
from reliability.world import World

FAULTS: Final = (
    ("fdatasync", "EIO"), ("pwritev", "EIO"), ("pwritev", "ENOSPC"), ("fallocate", "ENOSPC"),
    ("rename", "EIO"), ("fsync", "EIO"), ("ftruncate", "EIO"), ("unlink", "EIO"), ("pread64", "EIO"),
)  # fmt: skip
BALLAST: Final = "ballast"
TMPFS_BYTES: Final = 96 << 20
TIME_FILE: Final = "faketime"


def failing_calls(world: World, dose: float) -> dict[str, Any]:
    """Let calls of one kind fail, some of them, for seconds at a time; the dose counts such times."""
    need("strace")
    for _ in range(int(dose)):
        fail_calls_once(world)
        world.wait_for_acks(20)
    return {"fault_times": int(dose), **ready_times(world)}


def fail_calls_once(world: World) -> None:
    """Start the server so that calls of one kind fail, and after some seconds as usual."""
    assert world.process is not None
    world.process.kill()
    call, error = world.random.choice(FAULTS)
    first, step = world.random.randint(20, 80), world.random.randint(5, 40)
    inject = strace(world, f"{call}:error={error}:when={first}+{step}")
    process = world.launch((*inject, *world.wrapper))
    time.sleep(world.random.uniform(2.0, 5.0))
    world.history.add("server", "crash", "info", value=f"{call} {error} {first}+{step}")
    process.kill()
    world.start()


def pause(world: World, dose: float) -> dict[str, Any]:
    """Stop the process for a while and let it go on; the dose counts pauses."""
    for _ in range(int(dose)):
        time.sleep(world.random.uniform(0.1, 0.8))
        pause_once(world)
        world.wait_for_acks(5)
    return {"pauses": int(dose)}


def pause_once(world: World) -> None:
    """Stop the process for up to 2.5 s."""
    assert world.process is not None
    os.kill(world.process.pid, signal.SIGSTOP)
    time.sleep(world.random.uniform(0.05, 2.5))
    os.kill(world.process.pid, signal.SIGCONT)


def full_disk(world: World, dose: float) -> dict[str, Any]:
    """Fill the file system under the data, make room again, kill now and then; the dose counts fillings."""
    kills = 0
    for _ in range(int(dose)):
        time.sleep(world.random.uniform(0.2, 1.0))
        kills += fill_once(world)
        world.wait_for_acks(20)
    return {"fillings": int(dose), "kills": kills}


def fill_once(world: World) -> int:
    """Fill the file system for a while; return 1 if the server was killed meanwhile."""
    ballast = world.data.parent / BALLAST
    kills = 0
    _fill(ballast, leave=world.random.choice((0, 0, 4096, 1 << 20, 9 << 20)))
    time.sleep(world.random.uniform(0.5, 2.0))
    if world.random.random() < 0.3:
        kills += kill_once(world)
        if world.random.random() < 0.5:
            ballast.unlink()
        world.start()
    ballast.unlink(missing_ok=True)
    return kills


def _fill(path: Path, *, leave: int) -> None:
    """Write a file until only so many bytes are free."""
    room = shutil.disk_usage(path.parent).free - leave
    with path.open("wb", buffering=0) as file:
        try:
            while room > 0:
                room -= file.write(bytes(min(room, 1 << 20))) or 0
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise


class Tmpfs:
    """A small file system in memory, mounted as long as the block lasts; only root can do that."""

    def __init__(self, path: Path) -> None:
        need("mount", "umount")
        self.path = path

    def __enter__(self) -> Path:
        self.path.mkdir()
        subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={TMPFS_BYTES}", "tmpfs", str(self.path)], check=True
        )
        return self.path

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "--lazy", str(self.path)], check=True)


def clock(world: World, dose: float) -> dict[str, Any]:
    """Let the wall clock jump by up to ten years while the monotonic one goes on; the dose counts jumps."""
    for _ in range(int(dose)):
        jump_once(world)
        world.wait_for_acks(10)
    return {"jumps": int(dose)}


def jump_once(world: World) -> None:
    """Let the wall clock be wrong for a while."""
    time_file = world.directory / TIME_FILE
    world.history.add("server", "clock", "info")
    days = world.random.choice((-3650, -1, 1, 30, 3650)) * world.random.random()
    write_whole(time_file, f"{days:+.6f}d")
    time.sleep(world.random.uniform(0.3, 1.5))
    write_whole(time_file, "+0d")


def write_whole(path: Path, text: str) -> None:
    """Replace a file in one step: the server reads it at any moment."""
    new = path.with_suffix(".new")
    new.write_text(text)
    new.rename(path)


def clock_environment(world: World) -> tuple[str, ...]:
    """Return the words before the server's command that let a file move its wall clock."""
    need("faketime")
    time_file = world.directory / TIME_FILE
    write_whole(time_file, "+0d")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return (
        "env", f"LD_PRELOAD={library}", f"FAKETIME_TIMESTAMP_FILE={time_file}", "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
    )  # fmt: skip


NETWORK_FAULTS: Final = ("delay", "stall", "cut", "lose_replies", "cut_and_kill")


def network(world: World, dose: float) -> dict[str, Any]:
    """Delay, stall, cut, and lose replies on the way to the clients; the dose counts faults."""
    done: dict[str, int] = {}
    for _ in range(int(dose)):
        fault = world.random.choice(NETWORK_FAULTS)
        network_fault(world, fault)
        world.wait_for_acks(20)
        done[fault] = done.get(fault, 0) + 1
    return done


def network_fault(world: World, fault: str) -> None:
    """Break the network in this way for a while."""
    proxy = world.proxy
    assert proxy is not None
    if fault == "delay":
        proxy.delay_seconds = world.random.uniform(0.01, 0.3)
    elif fault == "stall":
        proxy.stalled = True
    elif fault == "lose_replies":
        proxy.loses_replies = True
    time.sleep(world.random.uniform(0.2, 1.5))
    if fault == "cut_and_kill":
        proxy.loses_replies = True
        time.sleep(0.2)
        kill_once(world)
        world.start()
    proxy.heal(cut=fault != "delay")
