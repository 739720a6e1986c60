"""The facts of this machine: small readings, each of which a test can replace."""

from __future__ import annotations

import ctypes
import fcntl
import os
import resource
import socket
import sys
import time
from pathlib import Path
from typing import NamedTuple

from broker.config.endpoints import Endpoint

SYNC_COUNT = 20
SYNC_BYTES = 4096
TIMEX_BYTES = 256
"""More than the struct timex of any Linux; only its beginning is read."""

TIMEX_STATUS_POSITION, TIMEX_MAX_ERROR_POSITION = 40, 24
STA_UNSYNC = 0x0040


class Space(NamedTuple):
    """A file system's size and the space free for us, in bytes, and the number of free inodes."""

    total_bytes: int
    free_bytes: int
    free_inodes: int


class FileSystem(NamedTuple):
    """The file system that a path lies on."""

    kind: str
    mount_point: str
    read_only: bool


class Facts:
    """The current readings of this machine."""

    @property
    def python(self) -> tuple[int, ...]:
        """The version of Python."""
        return sys.version_info[:3]

    def package_version(self, name: str) -> str | None:
        """Return the version of an installed package, None when it is missing."""
        from importlib import metadata

        try:
            return metadata.version(name)
        except metadata.PackageNotFoundError:
            return None

    def requirements(self) -> list[str]:
        """Return the requirements in this installation's metadata, without extras."""
        from importlib import metadata

        try:
            lines = metadata.requires("kawal") or []
        except metadata.PackageNotFoundError:
            return []
        return [line for line in lines if "extra ==" not in line]

    @property
    def user_id(self) -> int:
        """The user id this process runs as."""
        return os.geteuid()

    @property
    def cores(self) -> int:
        """The number of processors that the process may use."""
        return len(os.sched_getaffinity(0))

    def open_files_max(self) -> int:
        """Return how many files a process may open once it has raised its limit as far as it may."""
        return resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    def memory_bytes(self) -> tuple[int, int]:
        """Return the memory of the machine or of our control group, and how much of it is available."""
        fields = dict(line.split(":") for line in Path("/proc/meminfo").read_text().splitlines())
        total, available = (int(fields[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
        for limit, used in (
            ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
            ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
        ):
            text = _read(limit)
            if text.isdigit() and int(text) < total:
                total = int(text)
                available = min(available, total - int(_read(used) or 0))
        return total, available

    @property
    def wall_seconds(self) -> float:
        """The time of day, in seconds since 1970."""
        return time.time()

    def clock_is_synchronised(self) -> bool | None:
        """Return whether the kernel's clock follows a time server; None when the kernel does not say.

        Source: Linux, adjtimex(2): with modes 0 it only reads.
        """
        buffer = ctypes.create_string_buffer(TIMEX_BYTES)
        try:
            answer = ctypes.CDLL(None, use_errno=True).adjtimex(buffer)
        except (OSError, AttributeError):
            return None
        if answer < 0:
            return None
        status = int.from_bytes(buffer.raw[TIMEX_STATUS_POSITION : TIMEX_STATUS_POSITION + 4], sys.byteorder)
        return not status & STA_UNSYNC

    def space(self, path: str) -> Space:
        """Return the space on the file system of a path.  Raises: OSError."""
        found = os.statvfs(path)
        return Space(found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize, found.f_favail)

    def file_system(self, path: str) -> FileSystem:
        """Return the file system of a path, found by the longest mount point that leads to it."""
        wanted = os.path.realpath(path)
        best = FileSystem("unknown", "", False)
        for line in _read("/proc/self/mountinfo").splitlines():
            before, _, after = line.partition(" - ")
            mount_point, options = before.split()[4:6]
            mount_point = mount_point.encode().decode("unicode_escape")
            inside = mount_point == "/" or wanted == mount_point or wanted.startswith(f"{mount_point}/")
            if inside and len(mount_point) >= len(best.mount_point):
                best = FileSystem(after.split()[0], mount_point, "ro" in options.split(","))
        return best

    def sync_seconds(self, directory: str) -> list[float]:
        """Return the seconds that small synced writes take in a directory, sorted.  Raises: OSError."""
        path = os.path.join(directory, f"doctor-{os.getpid()}.tmp")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(descriptor, 0, SYNC_COUNT * SYNC_BYTES)
            os.fsync(descriptor)
            taken = []
            for number in range(SYNC_COUNT):
                began = time.perf_counter()
                os.pwrite(descriptor, bytes(SYNC_BYTES), number * SYNC_BYTES)
                os.fdatasync(descriptor)
                taken.append(time.perf_counter() - began)
        finally:
            os.close(descriptor)
            os.unlink(path)
        return sorted(taken)

    def lock_holder(self, path: str) -> int | None:
        """Return the process that holds a lock file; 0 when the file does not say, None when it is free."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(descriptor, 32, 0).strip()
            return int(text) if text.isdigit() else 0
        finally:
            os.close(descriptor)
        return None

    def bind_error(self, endpoint: Endpoint) -> OSError | None:
        """Return why a server could not listen on an address, None when it could."""
        try:
            family, _, _, _, address = socket.getaddrinfo(
                endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
            )[0]
            with socket.socket(family, socket.SOCK_STREAM) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind(address)
        except OSError as error:
            return error
        return None


def _read(path: str) -> str:
    """Return a small file's text, "" when it does not exist."""
    try:
        return Path(path).read_text().strip()
    except OSError:
        return ""
