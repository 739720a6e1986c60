"""A control group of Linux, whose memory is limited: in it, a server that takes more is ended by the kernel.

Both versions of control groups are known.  Version 1 has the limit in `memory.limit_in_bytes`, version 2 in
`memory.max`. The group is made, and its limit set, beforehand and as root:

    mkdir /sys/fs/cgroup/memory/small && echo 512M > /sys/fs/cgroup/memory/small/memory.limit_in_bytes

The pages of files count in a group, too, and fill it in any case; the kernel takes them back when it must.
So the most that a group has held says nothing, and its limit is what a server is judged by.
Source: Linux, Documentation/admin-guide/cgroup-v1/memory.rst and cgroup-v2.rst.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

MIB: Final = 1 << 20


class MemoryGroup:
    """One group, by its directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def limit_mib(self) -> float | None:
        """The most memory that its processes may hold together; None: it has no limit."""
        text = self._read("memory.max", "memory.limit_in_bytes")
        # Version 1 has no word for "no limit", but the largest number of whole pages.
        return None if text == "max" or int(text) >= 1 << 62 else int(text) / MIB

    def ended(self) -> int:
        """Return how many processes the kernel has ended because the group was full."""
        text = self._read("memory.events", "memory.oom_control")
        found = re.search(r"^oom_kill (\d+)$", text, re.MULTILINE)
        assert found, f"{self.path} does not say how many processes were ended: {text!r}"
        return int(found[1])

    def command(self, command: list[str]) -> list[str]:
        """Return a command line that runs another one in the group, with the same process id."""
        return ["/bin/sh", "-c", 'echo $$ > "$0" && exec "$@"', str(self.path / "cgroup.procs"), *command]

    def _read(self, *names: str) -> str:
        found = next((self.path / name for name in names if (self.path / name).exists()), None)
        assert found is not None, f"{self.path} is no group with a limit of memory: it has none of {names}"
        return found.read_text().strip()
