"""The race by which a store is judged before anything is trusted to it."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import md5
from threading import Lock

import pytest

from broker.server.object_probe import ROUNDS, probe
from wal.disk import Buffer
from wal.memory_objects import MemoryObjects
from wal.objects import StoredObject, StoreRefuses


class Locked:
    """A store in memory that several threads may use."""

    def __init__(self, store: MemoryObjects) -> None:
        self.name = store.name
        self._store = store
        self._lock = Lock()

    def create(self, key: str, data: Buffer) -> str:
        """Create, one at a time."""
        with self._lock:
            return self._store.create(key, data)

    def replace(self, key: str, data: Buffer, etag: str) -> str:
        """Replace, one at a time."""
        with self._lock:
            return self._store.replace(key, data, etag)

    def read(self, key: str) -> StoredObject:
        """Read, one at a time."""
        with self._lock:
            return self._store.read(key)

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes:
        """Read, one at a time."""
        with self._lock:
            return self._store.read_range(key, start, size_bytes)

    def remove(self, key: str) -> None:
        """Remove, one at a time."""
        with self._lock:
            self._store.remove(key)

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """List what is there."""
        return self._store.list(prefix)


def test_a_store_with_one_winner_passes_and_is_left_as_it_was() -> None:
    store = MemoryObjects()
    probe(Locked(store), "run-1")
    assert not store.objects
    assert sum(call.kind == "remove" for call in store.calls) == ROUNDS


def test_a_store_whose_etags_are_checksums_of_the_bytes_passes_each_time() -> None:
    class ByContent(MemoryObjects):
        """Gives the same etag to the same bytes, as S3 does."""

        def create(self, key: str, data: Buffer) -> str:
            super().create(key, data)
            return self._by_content(key, data)

        def replace(self, key: str, data: Buffer, etag: str) -> str:
            super().replace(key, data, etag)
            return self._by_content(key, data)

        def _by_content(self, key: str, data: Buffer) -> str:
            etag = md5(data, usedforsecurity=False).hexdigest()
            self.objects[key] = self.objects[key]._replace(etag=etag)
            return etag

    for number in range(20):
        probe(Locked(ByContent()), f"run-{number}")


def test_a_store_where_all_creations_succeed_is_refused_with_what_would_be_lost() -> None:
    store = MemoryObjects(name="s3://bucket", is_atomic=False)
    with pytest.raises(StoreRefuses, match=r"s3://bucket: .* not atomic: 8 of 8 .* would be lost"):
        probe(Locked(store), "run-1")
    assert not store.objects


def test_a_store_that_looks_at_no_etag_is_refused() -> None:
    class Careless(MemoryObjects):
        """Creates atomically, replaces without a look."""

        def replace(self, key: str, data: Buffer, etag: str) -> str:
            return super().replace(key, data, self.objects[key].etag)

    with pytest.raises(StoreRefuses, match="8 of 8 writers at once could replace one object"):
        probe(Locked(Careless()), "run-1")
