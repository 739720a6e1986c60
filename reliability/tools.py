"""The tools that rigs need beside Python: a missing one is an error that names its package."""

from __future__ import annotations

import shutil

PACKAGES = {
    "strace": "strace",
    "mount": "mount",
    "umount": "mount",
    "nbdkit": "nbdkit",
    "nbdfuse": "libnbd-bin",
    "losetup": "mount",
    "fusermount3": "fuse3",
    "mkfs.ext4": "e2fsprogs",
    "mkfs.xfs": "xfsprogs",
    "faketime": "faketime",
}


class ToolMissing(Exception):
    """A rig cannot run here; the text names what to install."""


def need(*names: str) -> None:
    """Raise ToolMissing unless every command is there."""
    missing = [name for name in names if shutil.which(name) is None]
    if missing:
        packages = " ".join(sorted({PACKAGES.get(name, name) for name in missing}))
        raise ToolMissing(f"{', '.join(missing)} is missing: apt-get install {packages}")
