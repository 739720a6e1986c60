"""The setting of a run: machine, disk, versions, commit."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.clients import rdkafka
from benchmarks.servers import ServerKind, java_version, kafka_version

REPOSITORY = Path(__file__).parent.parent
MEMORY_FILE_SYSTEMS = {"tmpfs", "ramfs"}
PROBE_SECONDS = 0.5
MB = 1_000_000


class UnfitDirectory(Exception):
    """The benchmark's directory cannot give honest figures."""


def check_directory(directory: Path, *, needed_bytes: int) -> None:
    """Refuse a directory in memory or on a disk that is too full.

    Raises: UnfitDirectory saying what to do.
    """
    kind = file_system(directory)[1]
    if kind in MEMORY_FILE_SYSTEMS:
        raise UnfitDirectory(
            f"{directory} is on {kind}, where a sync costs nothing: give --directory on a disk"
        )
    status = os.statvfs(directory)
    free = status.f_bavail * status.f_frsize
    if free < needed_bytes:
        raise UnfitDirectory(
            f"{directory} has {free / 1e9:.1f} GB free and {needed_bytes / 1e9:.0f} GB are needed: "
            "make room or give --directory"
        )


def file_system(directory: Path) -> tuple[str, str]:
    """Return device and type of the file system that holds `directory`."""
    path = directory.resolve()
    mounts = [line.split()[:3] for line in Path("/proc/mounts").read_text().splitlines()]
    holding = [mount for mount in mounts if path.is_relative_to(mount[1])]
    # The last of the longest: a later mount hides an earlier one.
    device, _point, kind = max(enumerate(holding), key=lambda pair: (len(pair[1][1]), pair[0]))[1]
    return device, kind


def facts(directory: Path, kinds: Sequence[ServerKind]) -> dict[str, Any]:
    """Return everything a reader needs to judge the figures."""
    device, kind = file_system(directory)
    with_kafka = any(server.startswith("kafka") for server in kinds)
    return {
        "date": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "commit": _git("rev-parse", "HEAD"),
        "changed_since_commit": bool(_git("status", "--porcelain", "--untracked-files=no")),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "kernel": platform.release(),
            "system": platform.freedesktop_os_release().get("PRETTY_NAME", platform.system()),
            "load_average": os.getloadavg(),
            "disk": {"device": device, "file_system": kind, **_probe(directory)},
        },
        "versions": {
            "kawal": importlib.metadata.version("kawal"),
            "python": platform.python_version(),
            "librdkafka": rdkafka.version(),
            "kafka": kafka_version() if with_kafka else None,
            "java": java_version() if with_kafka else None,
        },
    }


def commit_name() -> str:
    """Return the short commit, with a mark when files differ from it."""
    mark = "-changed" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return (_git("rev-parse", "--short", "HEAD") or "no-commit") + mark


def _git(*arguments: str) -> str | None:
    result = subprocess.run(
        ["git", "-C", str(REPOSITORY), *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    return result.stdout.strip() if result.returncode == 0 else None


def _processor() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _probe(directory: Path) -> dict[str, float]:
    """Time synchronous writes of 4 KiB and 1 MiB into a file that has its size already."""
    path = directory / "probe"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.posix_fallocate(descriptor, 0, 64 << 20)
        os.fsync(descriptor)
        small = _time_writes(descriptor, 4 << 10)
        large = _time_writes(descriptor, 1 << 20)
    finally:
        os.close(descriptor)
        path.unlink()
    return {"sync_4k_ms": small * 1_000, "sync_1m_mb_per_s": (1 << 20) / MB / large}


def _time_writes(descriptor: int, size: int) -> float:
    block, position, times = os.urandom(size), 0, []
    deadline = time.perf_counter() + PROBE_SECONDS
    while (before := time.perf_counter()) < deadline:
        os.pwrite(descriptor, block, position % (64 << 20))
        os.fdatasync(descriptor)
        times.append(time.perf_counter() - before)
        position += size
    return median(times)
