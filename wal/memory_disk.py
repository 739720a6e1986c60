"""A disk in memory: deterministic, crashable, and faulty on request.

It serves brokers that need no disk, simulations, and tests. The bytes live in `wal.memory_image`; here are
the calls of `wal.disk.Disk`, the capacity, locks, and faults. Paths are separated by slashes; relative ones
begin at the root, which always exists.

    disk = MemoryDisk(capacity_bytes=1 << 20)               # ENOSPC beyond
    disk.faults.append(failing("sync", errno.EIO, nth=3))   # the third sync fails, and loses what it covered
    disk.restart()                                          # the process dies, the page cache survives
    after = disk.crash(DROP_ALL)                            # the disk as the next boot finds it
"""

from __future__ import annotations

import errno
from collections.abc import Callable, Sequence

from wal.disk import Buffer
from wal.disk_errors import DiskError, DiskFull, LockHeld, disk_error, sync_failed
from wal.memory_faults import Call, Fault, FaultHook
from wal.memory_file import FileNode, MemoryLock
from wal.memory_image import (
    DROP_ALL,
    ROOT,
    CacheDropped,
    Created,
    DirectoryNode,
    Effect,
    Entry,
    Fates,
    Image,
    Linked,
    NamesLost,
    NamesSynced,
    Renamed,
    Resize,
    Synced,
    SyncLost,
    Write,
)  # fmt: skip

# The free space that an unlimited disk reports: more than any test writes, and no overflow of an int64.
UNLIMITED_BYTES = 1 << 60

_NO_FAULT = Fault()


class MemoryFile:
    """A `wal.disk.File` in memory; the protocol says what its methods promise."""

    __slots__ = ("_disk", "_is_open", "_node", "_read_only", "number", "path")

    descriptor = -1

    def __init__(self, disk: MemoryDisk, path: str, number: int, *, read_only: bool) -> None:
        self._disk = disk
        self._node: FileNode = disk.image.file(number)
        self._read_only = read_only
        self._is_open = True
        self.number = number
        self.path = path

    def write_at(self, position: int, buffers: Sequence[Buffer]) -> None:
        """Store a copy of the buffers; when the disk fills up, as much as there is room for."""
        data = b"".join(buffers)
        fault = self._begin("write", position, len(data), writes=True)
        if fault.is_lie:
            return
        if fault.errno:
            self._store(position, data[: fault.stored_bytes])
            raise disk_error("write to", self.path, fault.errno)
        room = self._disk.room_for(self.number, position + len(data))
        self._store(position, data[: max(0, room - position)])
        if room < position + len(data):
            raise disk_error("write to", self.path, errno.ENOSPC)

    def _store(self, position: int, data: bytes) -> None:
        if data:
            self._disk.happened(Write(self.number, position, data))

    def read_at(self, position: int, size_bytes: int) -> bytes:
        """Read the bytes written last, synced or not."""
        fault = self._begin("read", position, size_bytes)
        if fault.errno:
            raise disk_error("read from", self.path, fault.errno)
        self._node.is_cold = False
        return self._node.read(position, size_bytes)

    def read_at_if_cached(self, position: int, size_bytes: int) -> bytes | None:
        """Read unless the cache was dropped and the file has not been read since."""
        return None if self._node.is_cold else self.read_at(position, size_bytes)

    def allocate(self, size_bytes: int) -> None:
        """Reserve all of it or nothing."""
        fault = self._begin("allocate", 0, size_bytes, writes=True)
        if fault.is_lie:
            return
        if fault.errno or self._disk.room_for(self.number, size_bytes) < size_bytes:
            raise disk_error("allocate room for", self.path, fault.errno or errno.ENOSPC)
        if size_bytes > self._node.size:
            self._disk.happened(Resize(self.number, size_bytes))

    def truncate(self, size_bytes: int) -> None:
        """Cut or grow the file."""
        fault = self._begin("truncate", 0, size_bytes, writes=True)
        if fault.is_lie:
            return
        if fault.errno:
            raise disk_error("truncate", self.path, fault.errno)
        self._disk.happened(Resize(self.number, size_bytes))

    def sync(self) -> None:
        """Make the file's edits durable; on a fault they stay visible and never become so."""
        fault = self._begin("sync")
        if fault.is_lie:
            return
        if fault.errno:
            self._disk.happened(SyncLost(self.number))
            raise sync_failed(self.path, fault.errno)
        self._disk.happened(Synced(self.number))

    def drop_cache(self) -> None:
        """Show what a failed sync lost; `read_at_if_cached` then returns None until the next read."""
        fault = self._begin("drop_cache")
        if fault.is_lie:
            return
        if fault.errno:
            raise disk_error("drop the cache of", self.path, fault.errno)
        self._disk.happened(CacheDropped(self.number))

    def next_data(self, position: int) -> int:
        """Pass over what was never written."""
        return position if position < len(self._node.data) else max(position, self._node.size)

    def size(self) -> int:
        """Return the size as reads see it."""
        return self._node.size

    def close(self) -> None:
        """Close the file, and free it when no name refers to it any more."""
        if self._is_open:
            self._is_open = False
            self._disk.closed(self)

    def _begin(self, kind: str, position: int = 0, size_bytes: int = 0, *, writes: bool = False) -> Fault:
        if not self._is_open or (writes and self._read_only):
            raise DiskError(kind, self.path, errno.EBADF)
        return self._disk.ask(Call(kind, self.path, position, size_bytes))


class MemoryDisk:
    """A `wal.disk.Disk` in memory; the protocol says what its methods promise.

    `faults` are asked before every call. `observe`, when set, is called with every effect on the image, which
    is enough to replay it. `pause`, when given, is called with the milliseconds that a fault delays a call;
    `delayed_ms` adds them up for drivers with a clock of their own.
    """

    def __init__(
        self,
        *,
        capacity_bytes: int | None = None,
        pause: Callable[[int], None] | None = None,
        image: Image | None = None,
        process_id: int = 1,
    ) -> None:
        self.image = image or Image()
        self.capacity_bytes = capacity_bytes
        self.process_id = process_id
        self.faults: list[FaultHook] = []
        self.locks: dict[str, MemoryLock] = {}
        self.observe: Callable[[Effect], None] | None = None
        self.delayed_ms = 0
        self._pause = pause
        self._open_files: set[MemoryFile] = set()

    def open(
        self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False
    ) -> MemoryFile:
        """Open a file, making it first if `create` is set."""
        self._begin("open", path)
        number = self.image.find(path)
        if number is not None and create and exclusive:
            raise disk_error("create", path, errno.EEXIST)
        if number is None:
            if not create:
                raise disk_error("open", path, errno.ENOENT)
            number = self._create(path, is_directory=False)
        if isinstance(self.image.nodes[number], DirectoryNode):
            raise DiskError("open", path, errno.EISDIR)
        file = MemoryFile(self, path, number, read_only=read_only)
        self._open_files.add(file)
        return file

    def exists(self, path: str) -> bool:
        """Look the path up."""
        return self.image.find(path) is not None

    def list(self, directory: str) -> list[str]:
        """Return the names, sorted."""
        self._begin("list", directory)
        return sorted(self._directory("list", directory).entries)

    def make_directory(self, path: str) -> None:
        """Make one directory inside an existing one."""
        if self._begin("make_directory", path).is_lie:
            return
        number = self.image.find(path)
        if number is None:
            self._create(path, is_directory=True)
        elif not isinstance(self.image.nodes[number], DirectoryNode):
            raise disk_error("make the directory", path, errno.EEXIST)

    def rename(self, old: str, new: str) -> None:
        """Rename in one step; a file that had the new name loses it."""
        if self._begin("rename", old).is_lie:
            return
        number, target = self._find("rename", old), self.image.find(new)
        if number == target:
            return
        if target is not None and isinstance(self.image.nodes[target], DirectoryNode):
            raise disk_error("rename", old, errno.EEXIST)
        self.happened(Renamed((self._entry("rename", old, None), self._entry("rename", new, number))))

    def link(self, old: str, new: str) -> None:
        """Add a name."""
        fault, number = self._begin("link", new), self._find("link", old)
        if self.image.find(new) is not None:
            raise disk_error("link", new, errno.EEXIST)
        if not fault.is_lie:
            self.happened(Linked(self._entry("link", new, number)))

    def remove(self, path: str) -> None:
        """Remove a file's name."""
        if self._begin("remove", path).is_lie:
            return
        if isinstance(self.image.nodes[self._find("remove", path)], DirectoryNode):
            raise DiskError("remove", path, errno.EISDIR)
        self.happened(Renamed((self._entry("remove", path, None),)))

    def remove_directory(self, path: str) -> None:
        """Remove an empty directory."""
        if self._begin("remove_directory", path).is_lie:
            return
        if self._directory("remove the directory", path).entries:
            raise DiskError("remove the directory", path, errno.ENOTEMPTY)
        self.happened(Renamed((self._entry("remove the directory", path, None),)))

    def sync_directory(self, directory: str) -> None:
        """Make the directory's names durable; on a fault they stay visible and never become so."""
        fault = self.ask(Call("sync_directory", directory))
        self._directory("sync", directory)
        if fault.is_lie:
            return
        number = self._find("sync", directory)
        if fault.errno:
            self.happened(NamesLost(number))
            raise sync_failed(directory, fault.errno)
        self.happened(NamesSynced(number))
        self._free_unreachable()

    def lock(self, path: str) -> MemoryLock:
        """Lock within this disk; `restart` releases the lock, as the end of the process does."""
        self._begin("lock", path)
        if path in self.locks:
            raise LockHeld(path, self.process_id)
        file = self.open(path, create=True)
        holder = b"%d\n" % self.process_id
        try:
            file.write_at(0, [holder])
            file.truncate(len(holder))
        except DiskFull:
            file.truncate(0)
        finally:
            file.close()
        lock = self.locks[path] = MemoryLock(self.locks, path)
        return lock

    def free_bytes(self, path: str) -> int:
        """Return how much of the capacity is left."""
        self._find("read the free space of", path)
        return UNLIMITED_BYTES if self.capacity_bytes is None else self.capacity_bytes - self.used_bytes()

    def total_bytes(self, path: str) -> int:
        """Return the capacity."""
        self._find("read the size of", path)
        return UNLIMITED_BYTES if self.capacity_bytes is None else self.capacity_bytes

    def used_bytes(self) -> int:
        """Return the total size of all files that have a name or are open."""
        return sum(node.size for node in self._visible_files().values())

    def crash(self, fates: Fates = DROP_ALL) -> MemoryDisk:
        """Return the disk as the next boot finds it after a power cut; this one is left as it is."""
        image = self.image.crash(fates)
        return MemoryDisk(capacity_bytes=self.capacity_bytes, image=image, process_id=self.process_id + 1)

    def kill(self) -> MemoryDisk:
        """Return the disk as the next process finds it, page cache and all; this one is left as it is."""
        image = self.image.copy()
        return MemoryDisk(capacity_bytes=self.capacity_bytes, image=image, process_id=self.process_id + 1)

    def restart(self) -> None:
        """End the process: files are closed and locks released; unsynced bytes are neither lost nor safe."""
        for file in list(self._open_files):
            file.close()
        self.locks.clear()
        self.process_id += 1

    def files(self) -> Sequence[str]:
        """Return the paths of all files, sorted."""
        return sorted(path for path, number in self.image.names_below(ROOT, "") if self._is_file(number))

    def contents(self, path: str) -> bytes:
        """Return a file's bytes as reads see them, without asking the faults."""
        node = self.image.file(self._find("read from", path))
        return node.read(0, node.size)

    def damage(self, path: str, position: int, data: bytes) -> None:
        """Change bytes unnoticed and durably, as by rot on the device. The file must be synced."""
        self.image.file(self._find("damage", path)).damage(position, data)

    def ask(self, call: Call) -> Fault:
        """Ask the faults about a call, and wait as long as they say."""
        for hook in self.faults:
            fault = hook(call)
            if fault is None:
                continue
            self.delayed_ms += fault.delay_ms
            if fault.delay_ms and self._pause is not None:
                self._pause(fault.delay_ms)
            return fault
        return _NO_FAULT

    def happened(self, effect: Effect) -> None:
        """Apply an effect to the image, and tell the observer."""
        self.image.apply(effect)
        if self.observe is not None:
            self.observe(effect)

    def room_for(self, number: int, size_bytes: int) -> int:
        """Return how large the file may become, at most `size_bytes`."""
        if self.capacity_bytes is None:
            return size_bytes
        others = sum(node.size for other, node in self._visible_files().items() if other != number)
        return min(size_bytes, self.capacity_bytes - others)

    def closed(self, file: MemoryFile) -> None:
        """Remove a file from those that are open; the garbage collector may close one at any time.

        Nodes without a name are therefore freed later, when a directory is synced.
        """
        self._open_files.discard(file)

    def _begin(self, kind: str, path: str) -> Fault:
        fault = self.ask(Call(kind, path))
        if fault.errno:
            raise disk_error(kind, path, fault.errno)
        return fault

    def _find(self, operation: str, path: str) -> int:
        number = self.image.find(path)
        if number is None:
            raise disk_error(operation, path, errno.ENOENT)
        return number

    def _directory(self, operation: str, path: str) -> DirectoryNode:
        node = self.image.nodes[self._find(operation, path)]
        if not isinstance(node, DirectoryNode):
            raise DiskError(operation, path, errno.ENOTDIR)
        return node

    def _entry(self, operation: str, path: str, number: int | None) -> Entry:
        parent, _, name = path.rstrip("/").rpartition("/")
        self._directory(operation, parent)
        return Entry(self._find(operation, parent), name, number)

    def _create(self, path: str, *, is_directory: bool) -> int:
        self.happened(Created(self._entry("create", path, number := self.image.next_node), is_directory))
        return number

    def _is_file(self, number: int) -> bool:
        return isinstance(self.image.nodes[number], FileNode)

    def _visible_files(self) -> dict[int, FileNode]:
        numbers = self._open_numbers()
        numbers.update(number for _, number in self.image.names_below(ROOT, ""))
        nodes = {number: self.image.nodes.get(number) for number in numbers}
        return {number: node for number, node in nodes.items() if isinstance(node, FileNode)}

    def _open_numbers(self) -> set[int]:
        """Return the nodes of open files; the garbage collector may close some at any allocation."""
        return {file.number for file in tuple(self._open_files)}

    def _free_unreachable(self) -> None:
        self.image.forget_unreachable(self._open_numbers())
