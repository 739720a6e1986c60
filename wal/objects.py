"""The only door from the engine to an object store: S3, or another with atomic conditional writes.

    create      the object appears whole, or another was there first; of several at once exactly one succeeds
    replace     the object changes only if it is still the one that was read (compare and set, by its etag)
    read        bytes as they were written, whole or a range
    remove      the name goes; reads that have begun may still end well
    list        names with a prefix.  Nothing that must be right depends on it

Keys are relative to the prefix that a deployment has for itself.  Calls block for as long as the store takes,
so threads make them.  They are not repeated here, because only the caller can tell its own object from a
stranger's:

    StoreAway                       the request may have been carried out, or may be carried out later
    ObjectExists, ObjectChanged     may be the answer to a request that the client library sent twice

`put_once` and `swap` know what follows from that.

Source: Amazon S3, conditional writes (If-None-Match, If-Match).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from wal.disk import Buffer

ATTEMPTS_MAX = 3
"""The tries of a write whose answer contradicts what is found afterwards."""


class ObjectStoreError(Exception):
    """A call that the store did not carry out; the text names the store, the key and the reason."""


class StoreAway(ObjectStoreError):
    """No answer, or one that says to try again later: what was asked may have been done all the same."""


class StoreRefuses(ObjectStoreError):
    """The store answers that this is not allowed, or that there is no such bucket: waiting does not help."""


class NoSuchObject(ObjectStoreError):
    """There is no object of that key."""


class ObjectExists(ObjectStoreError):
    """An object of that key was there before."""


class ObjectChanged(ObjectStoreError):
    """The object is not the one whose etag was given."""


class Fenced(ObjectStoreError):
    """Another process writes where this one does: this one must stop for good."""


class StoredObject(NamedTuple):
    """An object as it was read."""

    data: bytes
    etag: str


class ObjectReads(Protocol):
    """The objects below a prefix of a bucket, to be read.  Every call may raise StoreAway or StoreRefuses."""

    @property
    def name(self) -> str:
        """The address for people, such as s3://bucket/prefix; it holds no credentials."""

    def read(self, key: str) -> StoredObject:
        """Return an object.  Raises: NoSuchObject."""

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes:
        """Return bytes of an object; fewer only when it ends first.  Raises: NoSuchObject."""


class ObjectStore(ObjectReads, Protocol):
    """A prefix of a bucket, to be written as well."""

    def create(self, key: str, data: Buffer) -> str:
        """Store a new object and return its etag.  Raises: ObjectExists."""

    def replace(self, key: str, data: Buffer, etag: str) -> str:
        """Store other bytes in place of the object with this etag; return the new one.

        Raises: ObjectChanged, also when there is no such object.
        """

    def remove(self, key: str) -> None:
        """Remove an object; harmless when there is none."""

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Yield key and size in bytes of every object whose key begins with the prefix, in any order."""


def put_once(store: ObjectStore, key: str, data: Buffer) -> None:
    """Create an immutable object; it may be there already if it has these very bytes.

    Raises: Fenced when another's is there; StoreAway.
    """
    for _ in range(ATTEMPTS_MAX):
        try:
            store.create(key, data)
            return
        except ObjectExists as error:
            found = _find(store, key)
            if found is None:
                continue  # what answered so was a conflict of two requests, and neither has won
            if found.data == data:
                return
            raise Fenced(
                f"{store.name}: the object {key!r} exists with other bytes: another process writes there"
            ) from error
    raise StoreAway(f"{store.name}: {key!r} exists and does not, in turn, {ATTEMPTS_MAX} times")


def swap(store: ObjectStore, key: str, data: Buffer, etag: str | None) -> str:
    """Set a mutable object if it still has this etag, or does not exist (None); return the new etag.

    `data` must differ from all that others write, so that it tells whose it is.
    Raises: Fenced when it is another's; StoreAway.
    """
    for _ in range(ATTEMPTS_MAX):
        try:
            return store.create(key, data) if etag is None else store.replace(key, data, etag)
        except (ObjectExists, ObjectChanged) as error:
            found = _find(store, key)
            if found is not None and found.data == data:
                return found.etag
            if (found.etag if found is not None else None) != etag:
                what = "removed" if found is None else "changed"
                raise Fenced(f"{store.name}: the object {key!r} was {what} by another process") from error
            # It is still as it was: the answer was that of a conflict of two requests.
    raise StoreAway(f"{store.name}: {key!r} has changed and has not, {ATTEMPTS_MAX} times")


def _find(store: ObjectStore, key: str) -> StoredObject | None:
    try:
        return store.read(key)
    except NoSuchObject:
        return None
