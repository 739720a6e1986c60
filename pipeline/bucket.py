"""A prefix of a bucket: the few requests by which tables live there, and sentences for what a store refuses.

Nothing here relies on a rename, which object stores lack. What must happen once is an object that is created
if absent (`If-None-Match: *`): of several processes that create one key, one wins. `probe` finds out whether
a store keeps to that.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import timedelta
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pipeline.bucket_config import BucketPlace, BucketSection, obstore_options
from pipeline.errors import SetupError, StoreError

if TYPE_CHECKING:
    from obstore.store import ObjectStore, S3Config

PATIENCE_SECONDS = 60.0
"""A run waits so long for a store that does not answer; its work so far would have to be done again."""

HURRY_SECONDS = 1.0
"""What `check` and `status` wait, which say what is wrong within two seconds."""

UPLOADS = 4
"""Files on their way at once, and parts of each: more do not make uploads faster, but cost memory."""

RACERS = 8
PROBE = "_probe-"

KEY_SENTENCES = (
    ("NoSuchBucket", "there is no such bucket: make it, or correct sink.path"),
    ("InvalidAccessKeyId", "the store does not know the access key: see sink.bucket.access_key_env"),
    ("SignatureDoesNotMatch", "the secret key is not that of the access key: see sink.bucket.secret_key_env"),
    ("ExpiredToken", "the token of the temporary key has expired: see sink.bucket.session_token_env"),
    ("PermanentRedirect", "the bucket is in another region: see sink.bucket.region and endpoint"),
    ("AccessDenied", "the key may not do that in this bucket: give it the right, or see [sink.bucket]"),
    ("Forbidden", "the key may not do that in this bucket: give it the right, or see [sink.bucket]"),
)
"""What answers of S3's say, and the remedy."""


class Bucket:
    """The objects below the prefix of a place; keys count from there.

    Every method raises StoreError when the store refuses or does not answer within the bucket's patience.
    """

    def __init__(self, store: ObjectStore, shown: str) -> None:
        self._store = store
        self.shown = shown
        """The address for people: s3://BUCKET/PREFIX, and the store's."""

    def all_keys(self) -> list[str]:
        """Return all keys, sorted."""
        return self.keys_below("")

    def keys_below(self, level: str) -> list[str]:
        """Return the keys that begin with a whole level, sorted."""
        import obstore

        with self._told():
            pages = obstore.list(self._store, prefix=level or None)
            return sorted(found["path"] for page in pages for found in page)

    def read(self, key: str) -> bytes | None:
        """Return an object, None when there is none."""
        import obstore
        from obstore.exceptions import NotFoundError

        with self._told():
            try:
                return bytes(obstore.get(self._store, key).bytes())
            except (NotFoundError, FileNotFoundError) as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None

    def read_range(self, key: str, start: int, size_bytes: int) -> bytes | None:
        """Return bytes of an object, fewer where it ends first; None when there is none."""
        import obstore
        from obstore.exceptions import NotFoundError

        with self._told():
            try:
                return bytes(obstore.get_range(self._store, key, start=start, length=size_bytes))
            except (NotFoundError, FileNotFoundError) as error:
                if "NoSuchBucket" in str(error):
                    raise
                return None

    def levels(self) -> list[str]:
        """Return the names of the first level, sorted."""
        import obstore

        with self._told():
            found = obstore.list_with_delimiter(self._store)["common_prefixes"]
            return sorted(prefix.strip("/").rpartition("/")[2] for prefix in found)

    def create(self, key: str, content: bytes) -> bool:
        """Create an object, and return whether it is ours; False when another one has the key.

        An object of the same content is ours: the answer to its creation was lost, and it was asked again.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError

        with self._told():
            try:
                obstore.put(self._store, key, content, mode="create", use_multipart=False)
            except AlreadyExistsError:
                return self.read(key) == content
            return True

    def replace(self, key: str, content: bytes) -> None:
        """Put an object in the place of what is there."""
        import obstore

        with self._told():
            obstore.put(self._store, key, content)

    def upload(self, files: Mapping[str, Path]) -> None:
        """Put files under their keys; when this returns all of them are stored."""
        with ThreadPoolExecutor(UPLOADS, thread_name_prefix="upload") as threads:
            for done in [threads.submit(self._upload, key, path) for key, path in files.items()]:
                done.result()

    def _upload(self, key: str, path: Path) -> None:
        import obstore

        with self._told():
            obstore.put(self._store, key, path, max_concurrency=UPLOADS)

    def delete(self, keys: Iterable[str]) -> None:
        """Remove objects; those that are not there count as removed."""
        import obstore

        found = list(keys)
        if found:
            with self._told():
                obstore.delete(self._store, found)

    def probe(self) -> None:
        """Let several threads create one object, and remove it again.  Raises: StoreError unless one won."""
        key = f"{PROBE}{secrets.token_hex(8)}"
        contents = [f"{racer}".encode() for racer in range(RACERS)]
        with ThreadPoolExecutor(RACERS) as threads:
            won = sum(threads.map(lambda content: self.create(key, content), contents))
        self.delete([key])
        if won != 1:
            raise StoreError(
                f"{self.shown}: {won} of {RACERS} requests to create one object if it is absent have "
                "succeeded, where one must (If-None-Match); two runs could land one batch twice in such a "
                "store: take one that keeps to it, or a local path"
            )

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what the client raises into one sentence."""
        from obstore.exceptions import BaseError

        try:
            yield
        except (BaseError, OSError) as error:
            raise StoreError(f"{self.shown}: {sentence_of(str(error))}") from error


def sentence_of(error: str) -> str:
    """Return what a client's error means, and the remedy."""
    for word, sentence in KEY_SENTENCES:
        if word in error:
            return sentence
    said = error.split("\n\nDebug source:")[0].strip().splitlines()
    shown = said[0] if said else "no reason given"
    if any(word in error.lower() for word in ("connection", "timed out", "dns", "sending request")):
        return f"the store does not answer ({shown}); see sink.bucket.endpoint, or wait until it is back"
    return f"the store refuses: {shown}"


def open_bucket(place: BucketPlace, section: BucketSection, *, patience_seconds: float) -> Bucket:
    """Return the objects of `place`; nothing is asked yet.  Raises: SetupError."""
    require_obstore()
    return Bucket(
        open_store(place, obstore_options(section, os.environ), patience_seconds=patience_seconds),
        f"{place.url} at {section.endpoint}" if section.endpoint else place.url,
    )


def open_store(
    place: BucketPlace, options: Mapping[str, str | bool], *, patience_seconds: float
) -> ObjectStore:
    """Return obstore's client of `place`, with the arguments that `obstore_options` has found."""
    from obstore.store import S3Store

    patience = timedelta(seconds=patience_seconds)
    in_hurry = patience_seconds <= HURRY_SECONDS
    return S3Store(
        place.bucket,
        prefix=place.prefix or None,
        client_options={
            "allow_http": str(options.get("endpoint", "")).startswith("http:"),
            "connect_timeout": timedelta(seconds=min(5.0, patience_seconds)),
            "timeout": patience if in_hurry else timedelta(seconds=max(30.0, patience_seconds)),
        },
        retry_config={"max_retries": 0 if in_hurry else 100, "retry_timeout": patience},
        config=cast("S3Config", dict(options)),
    )


def require_obstore() -> None:
    """Check that obstore is installed.  Raises: SetupError."""
    if util.find_spec("obstore") is None:
        raise SetupError("a table in a bucket needs obstore: pip install 'kawal[s3]'")
