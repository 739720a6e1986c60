"""A folder of a store in memory: the place of one node or worker."""

from __future__ import annotations

from collections.abc import Iterator

from wal.disk import Buffer
from wal.memory_objects import MemoryObjects
from wal.objects import StoredObject


class Folder:
    """A node's place in the store."""

    def __init__(self, objects: MemoryObjects, folder: str) -> None:
        self._objects = objects
        self._prefix = f"{folder}/" if folder else ""
        self.name = f"{objects.name}/{folder}".rstrip("/")

    def create(self, key: str, data: Buffer) -> str:
        return self._objects.create(self._prefix + key, data)

    def replace(self, key: str, data: Buffer, etag: str) -> str:
        return self._objects.replace(self._prefix + key, data, etag)

    def read(self, key: str) -> StoredObject:
        return self._objects.read(self._prefix + key)

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes:
        return self._objects.read_range(self._prefix + key, start, size_bytes)

    def remove(self, key: str) -> None:
        self._objects.remove(self._prefix + key)

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        for key, size_bytes in self._objects.list(self._prefix + prefix):
            yield key.removeprefix(self._prefix), size_bytes
