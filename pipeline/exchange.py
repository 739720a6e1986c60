"""Two folders that take each other's place in one step, so that a reader finds the one or the other."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path

from pipeline.errors import SetupError
from pipeline.ledger import sync_path

RENAME_EXCHANGE = 2
AT_FDCWD = -100
"""Of linux/fs.h and fcntl.h: renameat2(2), since Linux 3.15 and glibc 2.28."""


def exchange(one: Path, other: Path) -> None:
    """Let `one` and `other`, on the same file system, exchange their places; synced when this returns.

    Raises: SetupError where the system or the file system cannot do that.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        raise SetupError(f"{one} cannot be replaced in one step: the C library has no renameat2; use Linux")
    result = library.renameat2(AT_FDCWD, os.fsencode(one), AT_FDCWD, os.fsencode(other), RENAME_EXCHANGE)
    if result != 0:
        problem = os.strerror(ctypes.get_errno())
        raise SetupError(
            f"{one} and {other} cannot exchange their places: {problem}; the file system must be a local one "
            "such as ext4, xfs or btrfs"
        )
    for folder in {one.parent, other.parent}:
        sync_path(folder)
