"""A file of the simulated disk: the bytes that reads see, the durable ones, and the effect of a crash."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol


class Fate(NamedTuple):
    """The part of one edit that survives a crash: byte ranges in it (None: all), and whether its size."""

    kept: tuple[tuple[int, int], ...] | None
    sized: bool


KEEP = Fate(None, True)
DROP = Fate((), False)
GROW = Fate((), True)  # the size reached the disk but the bytes did not: they read as zeros


class _State(Enum):
    DIRTY = "dirty"  # in the page cache, will reach the disk some time
    LOST = "lost"  # its sync failed: clean, visible, and not on the disk
    DURABLE = "durable"  # on the disk, kept in the list only because a lost edit comes before it


class Edit:
    """One change of a file since its last sync, with the data to undo it."""

    __slots__ = ("after", "before", "is_resize", "position", "size_after", "size_before", "state")

    def __init__(self, position: int, after: bytes, size_after: int, *, is_resize: bool) -> None:
        self.position = position
        self.after = after
        self.size_after = size_after
        self.is_resize = is_resize
        self.before = b""
        self.size_before = 0
        self.state = _State.DIRTY

    def copy(self) -> Edit:
        """Return the same edit for another image."""
        twin = Edit(self.position, self.after, self.size_after, is_resize=self.is_resize)
        twin.before, twin.size_before, twin.state = self.before, self.size_before, self.state
        return twin

    @property
    def is_lost(self) -> bool:
        """Whether a failed sync gave this edit up."""
        return self.state is _State.LOST


class EditFates(Protocol):
    """The choice of what a crash leaves of a file's edits; asked in the order in which they happened."""

    def of_edit(self, node: int, edit: Edit) -> Fate:
        """Return the fate of one edit of file `node`; a resize survives if the fate is `sized`."""


class FileNode:
    """A file's bytes. `data` may be shorter than `size`: the rest reads as zeros (preallocated)."""

    __slots__ = ("data", "is_cold", "is_shared", "size", "unsynced")

    def __init__(self, data: bytearray, size: int, *, is_shared: bool = False) -> None:
        self.data = data
        self.size = size
        self.is_shared = is_shared  # another image reads the same bytearray: copy it before the first change
        self.is_cold = False
        self.unsynced: list[Edit] = []

    def read(self, position: int, size_bytes: int) -> bytes:
        """Return bytes as reads see them, cut at the file's end."""
        end = min(position + size_bytes, self.size)
        if end <= position:
            return b""
        return bytes(self.data[position:end]).ljust(end - position, b"\0")

    def edit(self, edit: Edit) -> None:
        """Apply an edit and remember how to undo it."""
        self._own()
        edit.size_before = self.size
        if edit.is_resize:
            edit.before = bytes(self.data[edit.size_after :])
            del self.data[edit.size_after :]
            self.size = edit.size_after
        else:
            edit.before = bytes(self.data[edit.position : edit.position + len(edit.after)])
            self._store(edit.position, edit.after)
            edit.size_after = self.size
        self.unsynced.append(edit)

    def synced(self) -> None:
        """Make every dirty edit durable; lost ones stay lost."""
        if any(edit.is_lost for edit in self.unsynced):
            self._move(_State.DIRTY, _State.DURABLE)
        else:
            self.unsynced.clear()

    def sync_lost(self) -> None:
        """Give up every dirty edit, without changing what reads see."""
        self._move(_State.DIRTY, _State.LOST)

    def drop_cache(self) -> None:
        """Show what the disk holds: lost edits are undone beneath those that came later."""
        self.is_cold = True
        if not any(edit.is_lost for edit in self.unsynced):
            return
        edits = list(self.unsynced)
        self._undo_all()
        for edit in edits:
            if not edit.is_lost:
                self.edit(edit)
        if all(edit.state is _State.DURABLE for edit in self.unsynced):
            self.unsynced.clear()

    def copy(self) -> FileNode:
        """Return the same file for another image; the bytes are shared until one of the two changes them."""
        self.is_shared = True
        twin = FileNode(self.data, self.size, is_shared=True)
        twin.unsynced = [edit.copy() for edit in self.unsynced]
        return twin

    def damage(self, position: int, data: bytes) -> None:
        """Change the bytes on the device itself; nothing may be unsynced, or undoing it would repair them."""
        assert not self.unsynced, "sync the file before damaging it"
        assert position + len(data) <= self.size, "damage changes bytes and adds none"
        self._own()
        self._store(position, data)

    def after_crash(self, node: int, fates: EditFates) -> FileNode:
        """Return the file as the next boot finds it, all of it durable."""
        if not self.unsynced:
            self.is_shared = True
            return FileNode(self.data, self.size, is_shared=True)
        survivor = FileNode(bytearray(self.data), self.size)
        survivor.unsynced = list(self.unsynced)
        survivor._undo_all()
        for edit in self.unsynced:
            fate = KEEP if edit.state is _State.DURABLE else fates.of_edit(node, edit)
            survivor._redo(edit, fate)
        return survivor

    def _move(self, old: _State, new: _State) -> None:
        for edit in self.unsynced:
            if edit.state is old:
                edit.state = new

    def _undo_all(self) -> None:
        self._own()
        while self.unsynced:
            edit = self.unsynced.pop()
            if edit.is_resize:
                if edit.before:
                    self._store(edit.size_after, edit.before)
            else:
                self._store(edit.position, edit.before.ljust(len(edit.after), b"\0"))
            self.size = edit.size_before
            del self.data[self.size :]

    def _redo(self, edit: Edit, fate: Fate) -> None:
        if edit.is_resize:
            if fate.sized:
                del self.data[edit.size_after :]
                self.size = edit.size_after
            return
        ranges = ((0, len(edit.after)),) if fate.kept is None else fate.kept
        for start, end in ranges:
            self._store(edit.position + start, edit.after[start:end])
        if fate.sized:
            self.size = max(self.size, edit.position + len(edit.after))

    def _store(self, position: int, data: bytes) -> None:
        if len(self.data) < position:
            self.data.extend(bytes(position - len(self.data)))
        self.data[position : position + len(data)] = data
        self.size = max(self.size, position + len(data))

    def _own(self) -> None:
        if self.is_shared:
            self.data = bytearray(self.data)
            self.is_shared = False


class MemoryLock:
    """A `wal.disk.Lock` in memory; `held` are the locks of its disk by path."""

    def __init__(self, held: dict[str, MemoryLock], path: str) -> None:
        self._held = held
        self._path = path

    def release(self) -> None:
        """Release the lock for the next holder."""
        if self._held.get(self._path) is self:
            del self._held[self._path]
