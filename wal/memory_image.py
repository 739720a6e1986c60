"""The content of a simulated disk: what reads see, what a crash would leave, and the difference.

Each file has its bytes as reads see them (the page cache) and the edits since its last sync; each directory
has its entries as lookups see them and those that are durable. Everything that happens is one of the effects
below, so a list of effects is a complete trace: applied to a copy of the start, it gives the same disk again.

A crash keeps what is durable and, of the rest, what a `Fates` object chooses. Any subset may survive: the
page cache is written back in no order, whole, short or in parts. Not modelled, because no journaling file
system does it: half a rename, a renamed file under both names, and bytes that were never written. Harsher
than Linux, on purpose: a sync of a file never makes its name durable, and a write next to a lost one never
saves the lost bytes of its page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple, Protocol

from wal.memory_file import DROP, KEEP, Edit, EditFates, Fate, FileNode

ROOT = 0


class Write(NamedTuple):
    """A write of bytes to a file."""

    node: int
    position: int
    data: bytes


class Resize(NamedTuple):
    """A cut or growth of a file to a size."""

    node: int
    size_bytes: int


class Synced(NamedTuple):
    """A sync of a file that worked."""

    node: int


class SyncLost(NamedTuple):
    """A sync of a file that failed: its pages are clean now and not durable."""

    node: int


class CacheDropped(NamedTuple):
    """A drop of a file's clean pages: lost edits vanish from what reads see."""

    node: int


class Entry(NamedTuple):
    """One directory entry and the node it leads to from now on; None removes the name."""

    directory: int
    name: str
    node: int | None


class Created(NamedTuple):
    """A new file or directory with its first name."""

    entry: Entry
    is_directory: bool


class Renamed(NamedTuple):
    """Entries that change together: a rename, or a removal."""

    entries: tuple[Entry, ...]


class Linked(NamedTuple):
    """One more name of a file."""

    entry: Entry


class NamesSynced(NamedTuple):
    """A sync of a directory that worked."""

    directory: int


class NamesLost(NamedTuple):
    """A sync of a directory that failed: what was pending there never becomes durable."""

    directory: int


Effect = (
    Write | Resize | Synced | SyncLost | CacheDropped | Created | Renamed | Linked | NamesSynced | NamesLost
)


class NameChange:
    """Directory entries that changed together and are not durable yet."""

    __slots__ = ("entries", "is_link", "is_lost")

    def __init__(self, entries: tuple[Entry, ...], *, is_link: bool = False) -> None:
        self.entries = entries
        self.is_link = is_link  # the file keeps the names that it has
        self.is_lost = False  # a failed directory sync gave it up

    def copy(self) -> NameChange:
        """Return the same change for another image."""
        twin = NameChange(self.entries, is_link=self.is_link)
        twin.is_lost = self.is_lost
        return twin

    def touches(self, directories: set[int]) -> bool:
        """Return whether one of the entries is in one of the directories."""
        return any(entry.directory in directories for entry in self.entries)


class Fates(EditFates, Protocol):
    """The choice of what a crash leaves of everything that is not durable; names come first."""

    def of_names(self, change: NameChange) -> bool:
        """Return whether the directory entries reached the disk."""


class Uniform(NamedTuple):
    """One fate for every edit and one for every name."""

    edits: Fate
    names: bool

    def of_edit(self, node: int, edit: Edit) -> Fate:
        """Return the fate of edits."""
        return self.edits

    def of_names(self, change: NameChange) -> bool:
        """Return the fate of names."""
        return self.names


DROP_ALL = Uniform(DROP, names=False)
KEEP_ALL = Uniform(KEEP, names=True)


class DirectoryNode:
    """A directory's names, those that lookups see and those that are durable."""

    __slots__ = ("durable", "entries")

    def __init__(self, entries: dict[str, int], durable: dict[str, int] | None = None) -> None:
        self.entries = entries
        self.durable = dict(entries if durable is None else durable)

    def copy(self) -> DirectoryNode:
        """Return the same directory for another image."""
        return DirectoryNode(dict(self.entries), self.durable)


class Image:
    """All nodes of a simulated disk by number; node 0 is the root directory."""

    def __init__(self) -> None:
        self.nodes: dict[int, FileNode | DirectoryNode] = {ROOT: DirectoryNode({})}
        self.pending_names: list[NameChange] = []
        self.next_node = 1

    def file(self, node: int) -> FileNode:
        """Return the file with this number."""
        found = self.nodes[node]
        assert isinstance(found, FileNode)
        return found

    def directory(self, node: int) -> DirectoryNode:
        """Return the directory with this number."""
        found = self.nodes[node]
        assert isinstance(found, DirectoryNode)
        return found

    def find(self, path: str) -> int | None:
        """Return the node to which a path leads; relative paths begin at the root too."""
        node: int | None = ROOT
        for name in path.split("/"):
            if not name or name == ".":
                continue
            directory = self.nodes[node] if node is not None else None
            if not isinstance(directory, DirectoryNode):
                return None
            node = directory.entries.get(name)
        return node

    def names_below(self, directory: int, path: str) -> Iterator[tuple[str, int]]:
        """Yield every path below a directory as lookups see it, and its node."""
        for name, number in self.directory(directory).entries.items():
            yield f"{path}/{name}", number
            if isinstance(self.nodes[number], DirectoryNode):
                yield from self.names_below(number, f"{path}/{name}")

    def apply(self, effect: Effect) -> None:
        """Apply one effect."""
        match effect:
            case Write():
                edit = Edit(effect.position, effect.data, 0, is_resize=False)
                self.file(effect.node).edit(edit)
            case Resize():
                self.file(effect.node).edit(Edit(0, b"", effect.size_bytes, is_resize=True))
            case Synced():
                self.file(effect.node).synced()
            case SyncLost():
                self.file(effect.node).sync_lost()
            case CacheDropped():
                self.file(effect.node).drop_cache()
            case _:
                self._apply_to_names(effect)

    def _apply_to_names(self, effect: Created | Renamed | Linked | NamesSynced | NamesLost) -> None:
        match effect:
            case Created(entry, is_directory):
                assert entry.node is not None
                self.nodes[entry.node] = DirectoryNode({}) if is_directory else FileNode(bytearray(), 0)
                self.next_node = max(self.next_node, entry.node + 1)
                self._change_names((entry,))
            case Renamed(entries):
                self._change_names(entries)
            case Linked(entry):
                self._change_names((entry,), is_link=True)
            case NamesSynced(directory):
                self._sync_names(directory)
            case NamesLost(directory):
                for change in self.pending_names:
                    change.is_lost = change.is_lost or change.touches({directory})

    def _change_names(self, entries: tuple[Entry, ...], *, is_link: bool = False) -> None:
        for entry in entries:
            _set_entry(self.directory(entry.directory).entries, entry)
        self.pending_names.append(NameChange(entries, is_link=is_link))

    def _sync_names(self, directory: int) -> None:
        """Settle a directory's changes, and earlier ones of others where a rename joins the two."""
        joined = {directory}
        settled = []
        for change in reversed(self.pending_names):
            if not change.is_lost and change.touches(joined):
                joined.update(entry.directory for entry in change.entries)
                settled.append(change)
        self.pending_names = [change for change in self.pending_names if change not in settled]
        for change in reversed(settled):
            for entry in change.entries:
                _set_entry(self.directory(entry.directory).durable, entry)

    def copy(self) -> Image:
        """Return the same image with all pending changes; bytes are shared until one of the two changes."""
        twin = Image()
        twin.nodes = {number: node.copy() for number, node in self.nodes.items()}
        twin.pending_names = [change.copy() for change in self.pending_names]
        twin.next_node = self.next_node
        return twin

    def crash(self, fates: Fates) -> Image:
        """Return the image as the next boot finds it, all of it durable; this one is left as it is."""
        durable = {
            number: dict(node.durable)
            for number, node in self.nodes.items()
            if isinstance(node, DirectoryNode)
        }
        for change in self.pending_names:
            # A lost change must not return over names that were synced after it.
            if not change.is_lost and fates.of_names(change):
                _move_names(durable, change)
        survivor = Image()
        survivor.next_node = self.next_node
        for number in _reachable(ROOT, durable):
            node = self.nodes[number]
            if isinstance(node, DirectoryNode):
                survivor.nodes[number] = DirectoryNode(durable[number])
            else:
                survivor.nodes[number] = node.after_crash(number, fates)
        return survivor

    def is_settled(self) -> bool:
        """Return whether everything is durable, so that a crash would change nothing."""
        files = (node for node in self.nodes.values() if isinstance(node, FileNode))
        return not self.pending_names and not any(node.unsynced for node in files)

    def forget_unreachable(self, in_use: Iterable[int]) -> None:
        """Free the nodes to which neither a name, durable or not, nor an open file in `in_use` leads."""
        kept = {ROOT, *in_use}
        for change in self.pending_names:
            kept.update(entry.node for entry in change.entries if entry.node is not None)
        for node in self.nodes.values():
            if isinstance(node, DirectoryNode):
                kept.update(node.entries.values())
                kept.update(node.durable.values())
        self.nodes = {number: node for number, node in self.nodes.items() if number in kept}


def _set_entry(entries: dict[str, int], entry: Entry) -> None:
    if entry.node is None:
        entries.pop(entry.name, None)
    else:
        entries[entry.name] = entry.node


def _move_names(directories: dict[int, dict[str, int]], change: NameChange) -> None:
    """Apply a change; a node in it loses its present name, which may not be the one it was renamed from."""
    for entry in change.entries:
        if entry.node is not None and not change.is_link:
            for entries in directories.values():
                for name in [name for name, node in entries.items() if node == entry.node]:
                    del entries[name]
        if entry.directory in directories:  # otherwise it was removed, and that is durable
            _set_entry(directories[entry.directory], entry)


def _reachable(node: int, durable: dict[int, dict[str, int]]) -> Iterator[int]:
    yield node
    for child in durable.get(node, {}).values():
        yield from _reachable(child, durable)
