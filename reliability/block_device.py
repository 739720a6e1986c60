"""A block device of our own under a real file system: nbdkit -> nbdfuse -> loop device -> ext4 or xfs.

The kernel's own ways to do this (device-mapper, an nbd client) are not in every kernel; FUSE and loop devices
nearly always are.  Only root can do it.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final, Literal

from compat_tests.waiting import eventually
from reliability.tools import need

FileSystem = Literal["ext4", "xfs"]
FILE_SYSTEMS: Final[tuple[FileSystem, ...]] = ("ext4", "xfs")

MAKE: Final[dict[FileSystem, tuple[str, ...]]] = {
    # Without lazy initialisation, whose writes come whenever the kernel likes.
    "ext4": ("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
}

MOUNT_OPTIONS: Final[dict[FileSystem, tuple[str, ...]]] = {
    "ext4": (),
    # Images of one device have its UUID, which xfs mounts once otherwise.
    "xfs": ("-o", "nouuid"),
}

DEVICE_BYTES: Final = 320 << 20
"""mkfs.xfs makes nothing below 300 MiB."""


def run(*words: str) -> str:
    """Run a command and return what it prints.  Raises: RuntimeError with its complaint."""
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stderr.strip() or done.returncode}")
    return done.stdout.strip()


class LoopMount(AbstractContextManager[Path]):
    """A file that holds a file system, mounted as long as the block lasts."""

    def __init__(self, image: Path, place: Path, file_system: FileSystem) -> None:
        """Prepare to mount `image` at the directory `place`."""
        self.place = place
        self._options = MOUNT_OPTIONS[file_system]
        self.device = ""
        self._image = image
        self._mounted = False

    def __enter__(self) -> Path:
        self.device = run("losetup", "--find", "--show", str(self._image))
        self.place.mkdir(exist_ok=True)
        try:
            self.mount()
        except BaseException:
            self._detach()
            raise
        return self.place

    def mount(self) -> None:
        """Mount; a journal is replayed."""
        run("mount", *self._options, self.device, str(self.place))
        self._mounted = True

    def unmount(self) -> None:
        """Unmount, once nothing uses it any more."""
        if not self._mounted:
            return

        def unmounted() -> bool:
            return (
                subprocess.run(["umount", str(self.place)], capture_output=True, check=False).returncode == 0
            )

        eventually(unmounted, waiting_for=f"the end of the mount {self.place}", within_seconds=30)
        self._mounted = False

    def _detach(self) -> None:
        run("losetup", "--detach", self.device)

    def __exit__(self, *_: object) -> None:
        self.unmount()
        self._detach()


class BlockDevice(AbstractContextManager[Path]):
    """nbdkit with some plugin, shown as a file by nbdfuse and mounted as a file system."""

    def __init__(self, directory: Path, plugin: Sequence[str], file_system: FileSystem) -> None:
        """Prepare; `plugin` are the words that follow nbdkit's own options."""
        need("nbdkit", "nbdfuse", "losetup", "mount", "umount", "fusermount3", MAKE[file_system][0])
        self.file_system = file_system
        self.place = directory / "mount"
        self._fuse = directory / "fuse"
        self._socket = directory / "nbd.sock"
        self._plugin = plugin
        self._processes: list[subprocess.Popen[bytes]] = []
        self._loop = LoopMount(self._fuse / "nbd", self.place, file_system)
        self._log = (directory / "device.log").open("wb")

    def __enter__(self) -> Path:
        try:
            self._show()
            run(*MAKE[self.file_system], str(self._fuse / "nbd"))
            return self._loop.__enter__()
        except BaseException:
            self._end()
            raise

    def _show(self) -> None:
        self._fuse.mkdir()
        self._start("nbdkit", "--foreground", "--exit-with-parent", "-U", str(self._socket), *self._plugin)
        eventually(self._socket.exists, waiting_for=str(self._socket), within_seconds=10)
        self._start("nbdfuse", str(self._fuse), "--unix", str(self._socket))
        eventually((self._fuse / "nbd").exists, waiting_for=f"{self._fuse}/nbd", within_seconds=10)

    def _start(self, *words: str) -> None:
        self._processes.append(subprocess.Popen(words, stdout=self._log, stderr=self._log))

    def mount_again(self) -> None:
        """Unmount and mount: a file system that gave up after errors starts anew from the device."""
        self._loop.unmount()
        self._loop.mount()

    def __exit__(self, *_: object) -> None:
        try:
            self._loop.__exit__()
        finally:
            self._end()

    def _end(self) -> None:
        subprocess.run(["fusermount3", "-u", str(self._fuse)], capture_output=True, check=False)
        for process in reversed(self._processes):
            process.send_signal(signal.SIGTERM)
            process.wait(10)
        self._log.close()
