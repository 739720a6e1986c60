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

from reliability.kill_rigs import ready_times, strace
from reliability.proxy import FaultProxy
from reliability.tools import need
from reliability.world import World

FAULTS: Final = (
    ("fdatasync", "EIO"), ("pwritev", "EIO"), ("pwritev", "ENOSPC"), ("fallocate", "ENOSPC"),
    ("rename", "EIO"), ("fsync", "EIO"), ("ftruncate", "EIO"), ("unlink", "EIO"), ("pread64", "EIO"),
)  # fmt: skip
BALLAST: Final = "ballast"
TMPFS_BYTES: Final = 96 << 20


def failing_calls(world: World, dose: float) -> dict[str, Any]:
    """Let calls of one kind fail, some of them, for seconds at a time; the dose counts such times."""
    need("strace")
    for _ in range(int(dose)):
        assert world.process is not None
        world.process.kill()
        call, error = world.random.choice(FAULTS)
        first, step = world.random.randint(20, 80), world.random.randint(5, 40)
        process = world.launch(strace(world, f"{call}:error={error}:when={first}+{step}"))
        time.sleep(world.random.uniform(2.0, 5.0))
        world.history.add("server", "crash", "info", value=f"{call} {error} {first}+{step}")
        process.kill()
        world.start()
        world.wait_for_acks(20)
    return {"fault_times": int(dose), **ready_times(world)}


def pause(world: World, dose: float) -> dict[str, Any]:
    """Stop the process for a while and let it go on; the dose counts pauses."""
    assert world.process is not None
    for _ in range(int(dose)):
        time.sleep(world.random.uniform(0.1, 0.8))
        os.kill(world.process.pid, signal.SIGSTOP)
        time.sleep(world.random.uniform(0.05, 2.5))
        os.kill(world.process.pid, signal.SIGCONT)
        world.wait_for_acks(5)
    return {"pauses": int(dose)}


def full_disk(world: World, dose: float) -> dict[str, Any]:
    """Fill the file system under the data, make room again, kill now and then; the dose counts fillings."""
    kills = 0
    ballast = world.data.parent / BALLAST
    for _ in range(int(dose)):
        time.sleep(world.random.uniform(0.2, 1.0))
        _fill(ballast, leave=world.random.choice((0, 0, 4096, 1 << 20, 9 << 20)))
        time.sleep(world.random.uniform(0.5, 2.0))
        if world.random.random() < 0.3:
            assert world.process is not None
            world.process.kill()
            world.history.add("server", "crash", "info")
            kills += 1
            if world.random.random() < 0.5:
                ballast.unlink()
            world.start()
        ballast.unlink(missing_ok=True)
        world.wait_for_acks(20)
    return {"fillings": int(dose), "kills": kills}


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
    need("faketime")
    time_file = world.directory / "faketime"
    for _ in range(int(dose)):
        days = world.random.choice((-3650, -1, 1, 30, 3650)) * world.random.random()
        time_file.write_text(f"{days:+.6f}d")
        time.sleep(world.random.uniform(0.3, 1.5))
        time_file.write_text("+0d")
        world.wait_for_acks(10)
    return {"jumps": int(dose)}


def clock_environment(world: World) -> tuple[str, ...]:
    """Return the words before the server's command that let a file move its wall clock."""
    need("faketime")
    time_file = world.directory / "faketime"
    time_file.write_text("+0d")
    library = next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))
    return (
        "env", f"LD_PRELOAD={library}", f"FAKETIME_TIMESTAMP_FILE={time_file}", "FAKETIME_NO_CACHE=1",
        "FAKETIME_DONT_FAKE_MONOTONIC=1", "FAKETIME_DONT_RESET=1",
    )  # fmt: skip


def network(world: World, dose: float, proxy: FaultProxy) -> dict[str, Any]:
    """Delay, stall, cut, and lose replies on the way to the clients; the dose counts faults."""
    done: dict[str, int] = {}
    for _ in range(int(dose)):
        fault = world.random.choice(("delay", "stall", "cut", "lose_replies", "cut_and_kill"))
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
            assert world.process is not None
            world.process.kill()
            world.history.add("server", "crash", "info")
            world.start()
        proxy.heal(cut=fault != "delay")
        world.wait_for_acks(20)
        done[fault] = done.get(fault, 0) + 1
    return done
