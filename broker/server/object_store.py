"""A bucket by the library obstore, which is installed with the extra `kawal[remote]`.

Each call goes out once: `wal.objects` says why repetitions are for its callers.  The library gives up the
interpreter's lock while it waits.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final, TypeVar

from broker.config.config_keys import ConfigProblem
from broker.config.remote_keys import BUCKET_URL, url_problem
from wal.disk import Buffer
from wal.objects import (
    NoSuchObject,
    ObjectChanged,
    ObjectExists,
    ObjectStoreError,
    StoreAway,
    StoredObject,
    StoreRefuses,
)

if TYPE_CHECKING:
    from obstore import PutResult
    from obstore.store import S3Store

Made = TypeVar("Made")

TIMEOUT: Final = "30s"
"""For one request; a segment of 64 MiB takes half a second at 118 MB/s."""
CONNECT_TIMEOUT: Final = "5s"

REFUSALS: Final = ("PermissionDeniedError", "UnauthenticatedError", "NotSupportedError", "InvalidPathError")


@dataclass(frozen=True, slots=True, kw_only=True)
class StorePlace:
    """The place of a store, and how it is asked.  Credentials are the environment's, as for other clients."""

    url: str
    """s3://BUCKET or s3://BUCKET/PREFIX."""
    endpoint: str = ""
    """http(s)://HOST:PORT of a store that is not Amazon's."""
    region: str = "us-east-1"
    credentials: Mapping[str, str] = field(default_factory=dict)
    """AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN; else those that the machine is given."""


def open_store(place: StorePlace, folder: str = "") -> S3Objects:
    """Return the store at a place, or a folder in it; nothing is asked yet.

    Raises: ConfigProblem when obstore is not installed, or the address cannot be used.
    """
    problem = url_problem(place.url)
    if problem is not None:
        raise ConfigProblem(f"the object store {place.url!r} {problem}")
    try:
        from obstore.exceptions import BaseError
        from obstore.store import S3Store
    except ImportError as error:
        raise ConfigProblem(
            f"the object store {place.url} needs the library obstore: install kawal[remote]"
        ) from error
    found = BUCKET_URL.fullmatch(place.url)
    assert found is not None
    prefix = "/".join(part.strip("/") for part in (found["prefix"] or "", folder) if part)
    try:
        store = S3Store(
            found["bucket"],
            prefix=prefix or None,
            config=_config(place),  # type: ignore[arg-type]
            client_options={
                "timeout": TIMEOUT,
                "connect_timeout": CONNECT_TIMEOUT,
                "allow_http": place.endpoint.startswith("http://"),
            },
            # wal.objects says why the library must not repeat a request.
            retry_config={"max_retries": 0, "retry_timeout": timedelta(seconds=30)},
        )
    except (BaseError, ValueError) as error:
        raise ConfigProblem(f"the object store {place.url} cannot be used: {first_line(error)}") from error
    return S3Objects(store, f"s3://{found['bucket']}/{prefix}".rstrip("/"))


def _config(place: StorePlace) -> dict[str, str]:
    names = {
        "AWS_ACCESS_KEY_ID": "aws_access_key_id",
        "AWS_SECRET_ACCESS_KEY": "aws_secret_access_key",
        "AWS_SESSION_TOKEN": "aws_session_token",
    }
    keys = {ours: place.credentials[name] for name, ours in names.items() if place.credentials.get(name)}
    endpoint = {"aws_endpoint": place.endpoint} if place.endpoint else {}
    return {"aws_region": place.region, "aws_conditional_put": "etag", **keys, **endpoint}


class S3Objects:
    """The store; it may be used by several threads at once."""

    def __init__(self, store: S3Store, name: str) -> None:
        self._store = store
        self.name = name

    def create(self, key: str, data: Buffer) -> str:
        """PUT with If-None-Match."""
        import obstore

        return self._etag(
            key, lambda: obstore.put(self._store, key, data, mode="create", use_multipart=False)
        )

    def replace(self, key: str, data: Buffer, etag: str) -> str:
        """PUT with If-Match."""
        import obstore

        return self._etag(
            key, lambda: obstore.put(self._store, key, data, mode={"e_tag": etag}, use_multipart=False)
        )

    def read(self, key: str) -> StoredObject:
        """GET."""
        import obstore

        def read() -> StoredObject:
            answer = obstore.get(self._store, key)
            return StoredObject(bytes(answer.bytes()), answer.meta["e_tag"] or "")

        return self._asked(key, read)

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes:
        """GET with Range."""
        import obstore

        return self._asked(
            key, lambda: bytes(obstore.get_range(self._store, key, start=start, length=size_bytes))
        )

    def remove(self, key: str) -> None:
        """DELETE."""
        import obstore

        with suppress(NoSuchObject):
            self._asked(key, lambda: obstore.delete(self._store, key))

    def list(self, prefix: str) -> Iterator[tuple[str, int]]:
        """Pages of ListObjectsV2 of the folder that the prefix ends in; the rest is sorted out here."""
        import obstore

        folder = prefix.rpartition("/")[0]
        pages = self._asked(prefix, lambda: iter(obstore.list(self._store, folder or None)))
        while (page := self._asked(prefix, lambda: next(pages, None))) is not None:
            for found in page:
                if found["path"].startswith(prefix):
                    yield found["path"], found["size"]

    def _etag(self, key: str, write: Callable[[], PutResult]) -> str:
        etag = self._asked(key, write)["e_tag"]
        if not etag:
            raise StoreRefuses(f"{self.name}: {key!r}: the store gives no etag, so nothing can be compared")
        return etag

    def _asked(self, key: str, call: Callable[[], Made]) -> Made:
        """Make a call, and tell its error in our words."""
        try:
            return call()
        except FileNotFoundError as error:
            kind: type[ObjectStoreError] = StoreRefuses if "NoSuchBucket" in str(error) else NoSuchObject
            raise kind(f"{self.name}: {key!r}: {first_line(error)}") from error
        except Exception as error:
            raise self._told(key, error) from error

    def _told(self, key: str, error: Exception) -> ObjectStoreError:
        kind: type[ObjectStoreError] = StoreAway
        match type(error).__name__:
            case "AlreadyExistsError":
                kind = ObjectExists
            case "PreconditionError":
                kind = ObjectChanged
            case name if name in REFUSALS or _STATUS_4XX.search(str(error)):
                kind = StoreRefuses
        return kind(f"{self.name}: {key!r}: {first_line(error)}")


_STATUS_4XX = re.compile(r"status(?: code)?:? 4(?!08|09|29)\d\d")
"""Answers that another try does not change; 408, 409 and 429 it may."""


def first_line(error: Exception) -> str:
    """Return the sentence of one of the library's errors, without its debugging output."""
    return str(error).strip().partition("\n")[0]
