"""An object store in memory, whose faults a hook decides: answers lost, requests late, bytes damaged.

no fault     the call is carried out and answered
AWAY         it is not carried out; the caller learns StoreAway
LOST         it is carried out; the caller learns StoreAway
LATE         the caller learns StoreAway now; `land_late` carries it out, at any later time
CONFLICT     it is not carried out; the caller learns that another was quicker (S3's answer 409)
DAMAGED      a read returns bytes with one bit flipped
SHORT        a read returns all but the last byte
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from enum import Enum, auto
from typing import NamedTuple

from wal.disk import Buffer
from wal.objects import NoSuchObject, ObjectChanged, ObjectExists, StoreAway, StoredObject


class ObjectCall(NamedTuple):
    """A call about to happen; `kind` is the method's name."""

    kind: str
    key: str
    size_bytes: int = 0


class ObjectFault(Enum):
    """The faults; the module says what each does."""

    AWAY = auto()
    LOST = auto()
    LATE = auto()
    CONFLICT = auto()
    DAMAGED = auto()
    SHORT = auto()


Hook = Callable[[ObjectCall], ObjectFault | None]


class MemoryObjects:
    """The store.  With `is_atomic` False conditions are not looked at, as some servers do under races."""

    def __init__(self, hook: Hook | None = None, *, name: str = "memory", is_atomic: bool = True) -> None:
        self.name = name
        self.hook = hook
        self.objects: dict[str, StoredObject] = {}
        self.calls: list[ObjectCall] = []
        self._is_atomic = is_atomic
        self._late: list[Callable[[], object]] = []
        self._writes = 0

    def create(self, key: str, data: Buffer) -> str:
        """Store a new object."""
        return self._write("create", key, bytes(data), lambda found: found is None)

    def replace(self, key: str, data: Buffer, etag: str) -> str:
        """Store other bytes if the object has this etag."""
        return self._write(
            "replace", key, bytes(data), lambda found: found is not None and found.etag == etag
        )

    def read(self, key: str) -> StoredObject:
        """Return an object."""
        fault = self._fault("read", key)
        found = self._find(key)
        return StoredObject(_as_read(found.data, fault), found.etag)

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes:
        """Return bytes of an object."""
        fault = self._fault("read_range", key, size_bytes)
        return _as_read(self._find(key).data[start : start + size_bytes], fault)

    def remove(self, key: str) -> None:
        """Remove an object."""
        fault = self._fault("remove", key)
        if fault is ObjectFault.LATE:
            self._late.append(lambda: self.objects.pop(key, None))
        else:
            self.objects.pop(key, None)
        self._answer(fault, key)

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield the objects that are there now."""
        self._fault("list", prefix)
        for key in [key for key in self.objects if key.startswith(prefix)]:
            yield key, len(self.objects[key].data)

    def land_late(self, number: int | None = None) -> None:
        """Carry out what is late: all, in order, or one of it."""
        if number is None:
            late, self._late = self._late, []
        else:
            late = [self._late.pop(number)]
        for request in late:
            request()

    @property
    def late_count(self) -> int:
        """The number of requests that are late."""
        return len(self._late)

    def _write(self, kind: str, key: str, data: bytes, holds: Callable[[StoredObject | None], bool]) -> str:
        fault = self._fault(kind, key, len(data))
        failed = ObjectExists if kind == "create" else ObjectChanged
        if fault is ObjectFault.CONFLICT:
            raise failed(f"{self.name}: {key!r}: a conflict")

        def carry_out() -> str | None:
            if self._is_atomic and not holds(self.objects.get(key)):
                return None
            self._writes += 1
            self.objects[key] = StoredObject(data, f'"{self._writes}"')
            return self.objects[key].etag

        if fault is ObjectFault.LATE:
            self._late.append(carry_out)
            self._answer(fault, key)
        etag = carry_out()
        self._answer(fault, key)
        if etag is None:
            raise failed(f"{self.name}: {key!r} is another object")
        return etag

    def _fault(self, kind: str, key: str, size_bytes: int = 0) -> ObjectFault | None:
        call = ObjectCall(kind, key, size_bytes)
        self.calls.append(call)
        fault = self.hook(call) if self.hook is not None else None
        changed = fault in (ObjectFault.DAMAGED, ObjectFault.SHORT)
        is_read = kind in ("read", "read_range", "list")
        if fault is ObjectFault.AWAY or (fault is not None and is_read and not changed):
            raise StoreAway(f"{self.name}: {key!r}: no answer")
        return fault

    def _answer(self, fault: ObjectFault | None, key: str) -> None:
        if fault in (ObjectFault.LOST, ObjectFault.LATE):
            raise StoreAway(f"{self.name}: {key!r}: no answer")

    def _find(self, key: str) -> StoredObject:
        found = self.objects.get(key)
        if found is None:
            raise NoSuchObject(f"{self.name}: there is no object {key!r}")
        return found


def _as_read(data: bytes, fault: ObjectFault | None) -> bytes:
    if fault is ObjectFault.SHORT:
        return data[:-1]
    if fault is ObjectFault.DAMAGED and data:
        middle = len(data) // 2
        return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
    return data
