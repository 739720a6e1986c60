"""A machine as a test wants it: all is well unless the test says otherwise."""

from __future__ import annotations

import errno
from typing import Any

from broker.config.endpoints import Endpoint
from console.doctor.facts import Facts, FileSystem, Space


class FakeFacts(Facts):
    """Invented facts."""

    def __init__(self, **changes: Any) -> None:
        self.changes = changes
        self.synced_in = ""

    def _fact(self, name: str, otherwise: Any) -> Any:
        found = self.changes.get(name, otherwise)
        if isinstance(found, Exception):
            raise found
        return found

    @property
    def python(self) -> tuple[int, ...]:
        return tuple(self._fact("python", (3, 12, 1)))

    def package_version(self, name: str) -> str | None:
        version: str | None = self._fact("packages", {}).get(name, "1.5.0")
        return version

    def requirements(self) -> list[str]:
        return ["trio>=1.2,<2", "h11 >=1 ; python_version > '3'"]

    @property
    def user_id(self) -> int:
        return 10001

    def open_files_max(self) -> int:
        return int(self._fact("open_files", 1 << 20))

    def memory_bytes(self) -> tuple[int, int]:
        total, available = self._fact("memory", (8 << 30, 4 << 30))
        return total, available

    @property
    def wall_seconds(self) -> float:
        return float(self._fact("wall_seconds", 1_800_000_000))

    def clock_is_synchronised(self) -> bool | None:
        synchronised: bool | None = self._fact("synchronised", True)
        return synchronised

    def space(self, path: str) -> Space:
        return Space(*self._fact("space", (100 << 30, 50 << 30, 1_000_000)))

    def file_system(self, path: str) -> FileSystem:
        return FileSystem(self._fact("kind", "ext4"), "/", self._fact("read_only", False))

    def sync_seconds(self, directory: str) -> list[float]:
        self.synced_in = directory
        return list(self._fact("syncs", [0.001] * 20))

    def lock_holder(self, path: str) -> int | None:
        holder: int | None = self._fact("holder", None)
        return holder

    def bind_error(self, endpoint: Endpoint) -> OSError | None:
        number = self._fact("bind", {}).get(endpoint.port)
        return None if number is None else OSError(number, errno.errorcode[number].lower())
