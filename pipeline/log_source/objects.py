"""The object store in which a gateway keeps its copy, as tasks of Spark reach it.

The driver reads the credentials from its environment, and Spark takes them with each task to its workers:
these may run on machines whose environment has none.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache

from pipeline.bucket import Bucket, open_store, require_obstore
from pipeline.bucket_config import BucketPlace, BucketSection, obstore_options
from pipeline.errors import SetupError, SourceError, StoreError
from wal.objects import NoSuchObject, StoredObject
from wal.remote.formats import CUT

PATIENCE_SECONDS = 60.0
"""A store that does not answer is asked again for so long: Spark would begin the whole task anew."""


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """A prefix of a bucket, with all that a request needs."""

    place: BucketPlace
    options: tuple[tuple[str, str | bool], ...] = field(repr=False)
    """The arguments of obstore's client; credentials are among them."""
    keys: str
    """What the names of settings begin with, for sentences: `source.bucket.`, or `option ` in a query."""
    patience_seconds: float = PATIENCE_SECONDS

    def opened(self) -> CopyObjects:
        """Return the objects; nothing is asked yet.  Raises: SourceError."""
        return _opened(self)


def address_of(
    place: BucketPlace, section: BucketSection, *, keys: str, patience_seconds: float = PATIENCE_SECONDS
) -> StoreAddress:
    """Return the address of a prefix.  Raises: SourceError when a variable of the environment is missing."""
    try:
        options = obstore_options(section)
    except SetupError as error:
        raise SourceError(_worded(str(error), keys)) from error
    return StoreAddress(place, tuple(sorted(options.items())), keys, patience_seconds)


@lru_cache(maxsize=8)
def _opened(address: StoreAddress) -> CopyObjects:
    """Return the client, one for each address: each has its own connections."""
    try:
        require_obstore()
    except SetupError as error:
        raise SourceError("a copy in a bucket needs obstore: pip install 'kawal[s3]'") from error
    options = dict(address.options)
    store = open_store(address.place, options, patience_seconds=address.patience_seconds)
    return CopyObjects(Bucket(store, address.place.url), address.place.url, address.keys)


class CopyObjects:
    """The objects below a prefix, to be read; a store that refuses or is away raises SourceError."""

    def __init__(self, bucket: Bucket, name: str, keys: str) -> None:
        self._bucket = bucket
        self._keys = keys
        self.name = name
        """The address for people."""

    def clusters(self) -> list[str]:
        """Return the ids of the clusters that have a copy; other levels may be what a probe has left."""
        with self._told():
            return [name for name in self._bucket.levels() if self._bucket.read(f"{name}/{CUT}") is not None]

    def read(self, key: str) -> StoredObject:
        """Return an object.  Raises: NoSuchObject."""
        with self._told():
            data = self._bucket.read(key)
        if data is None:
            raise NoSuchObject(f"{self.name}/{key}: there is no such object")
        return StoredObject(data, "")

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes:
        """Return bytes of an object; fewer only when it ends first.  Raises: NoSuchObject."""
        with self._told():
            data = self._bucket.read_range(key, start, size_bytes)
        if data is None:
            raise NoSuchObject(f"{self.name}/{key}: there is no such object")
        return data

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except StoreError as error:
            raise SourceError(_worded(str(error), self._keys)) from error


def _worded(sentence: str, keys: str) -> str:
    """Return a sentence about a table's bucket as one about that of a copy."""
    words = (
        ("[sink.bucket]", "the settings of the copy"),
        ("sink.bucket.", keys),
        ("sink.path", "the address of the copy"),
    )
    for theirs, ours in words:
        sentence = sentence.replace(theirs, ours)
    return sentence
