"""The keys of table [sink.bucket], as each of three clients wants them: obstore, deltalake and pyiceberg.

Credentials are not in job files: the file names environment variables.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from pipeline.errors import JobFileError, SetupError

SCHEME = "s3://"

URL = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])/(?P<prefix>[^/].*)")
"""A bucket's name as S3 allows it, and a prefix that is not empty."""


class BucketSection(Struct, frozen=True, kw_only=True):
    """Table [sink.bucket]: the object store of a table whose path is s3://BUCKET/PREFIX."""

    endpoint: Annotated[
        str,
        Meta(
            pattern=r"^(https?://[^/\s]+)?$",
            description="Address of the store, https://HOST:PORT; empty: Amazon S3.",
        ),
    ] = ""
    region: Annotated[str, Meta(min_length=1, description="Region that requests are signed for.")] = (
        "us-east-1"
    )
    access_key_env: Annotated[
        str,
        Meta(
            description="Environment variable with the access key; empty: what the machine itself is given."
        ),
    ] = "AWS_ACCESS_KEY_ID"
    secret_key_env: Annotated[str, Meta(description="Environment variable with the secret key.")] = (
        "AWS_SECRET_ACCESS_KEY"  # noqa: S105  (the name of a variable)
    )
    session_token_env: Annotated[
        str, Meta(description="Environment variable with the token of a temporary key, used where it is set.")
    ] = "AWS_SESSION_TOKEN"  # noqa: S105  (the name of a variable)


class CopySection(BucketSection, frozen=True, kw_only=True):
    """Table [source.bucket]: the object store in which a gateway keeps its copy, for source.backfill."""

    cluster: Annotated[
        str, Meta(description="Id of the gateway's cluster, where the store has copies of several.")
    ] = ""
    store: Annotated[
        str,
        Meta(
            description="With a data directory: s3://BUCKET/PREFIX, to which its old segments have gone "
            "(kawal.remote.store); empty: all of them are on the disk."
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class BucketPlace:
    """A bucket and a prefix in it."""

    bucket: str
    prefix: str
    """Without slashes at its ends."""

    @property
    def url(self) -> str:
        """The address of the table, s3://BUCKET/PREFIX."""
        return f"{SCHEME}{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def name(self) -> str:
        """The last level of the prefix."""
        return self.prefix.rpartition("/")[2]


def in_bucket(path: str) -> bool:
    """Return whether a path of the job file is in an object store."""
    return path.startswith(SCHEME)


def place_in_bucket(path: str) -> BucketPlace:
    """Return the place that `path` names.  Raises: JobFileError."""
    found = URL.fullmatch(path)
    prefix = found["prefix"].strip("/") if found else ""
    levels = prefix.split("/")
    if found is None or any(level in ("", ".", "..") for level in levels):
        raise JobFileError(
            f"sink.path is {path!r}: a table in a bucket is s3://BUCKET/PREFIX, with a bucket's name of 3 to "
            "63 small letters, digits, '.' and '-', and a prefix of its own, without empty levels"
        )
    return BucketPlace(found["bucket"], prefix)


COPY_URL = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/(?P<prefix>.*))?")
"""An address as `kawal.remote.store` has it: the prefix may be missing."""


def place_of_copy(url: str) -> BucketPlace | None:
    """Return the place that an address names; None when it is none."""
    found = COPY_URL.fullmatch(url)
    return BucketPlace(found["bucket"], (found["prefix"] or "").strip("/")) if found else None


def check_bucket(section: BucketSection, path: str) -> None:
    """Refuse keys that contradict each other.  Raises: JobFileError."""
    if not in_bucket(path):
        if section != BucketSection():
            raise JobFileError(f"[sink.bucket] is given, but sink.path is {path!r}, which is not s3://…")
        return
    place_in_bucket(path)
    if bool(section.access_key_env) != bool(section.secret_key_env):
        raise JobFileError(
            "sink.bucket.access_key_env and sink.bucket.secret_key_env belong together; give both or set "
            "both to ''"
        )


@dataclass(frozen=True, slots=True)
class Credentials:
    """The keys by which requests are signed; without them, what the machine itself is given."""

    access_key: str = ""
    secret_key: str = ""
    token: str = ""


def credentials(section: BucketSection, environment: Mapping[str, str] = os.environ) -> Credentials:
    """Return the credentials that `section` names.  Raises: SetupError."""
    if not section.access_key_env:
        return Credentials()
    found = []
    for name in (section.access_key_env, section.secret_key_env):
        value = environment.get(name)
        if not value:
            raise SetupError(
                f"the environment variable {name} is not set; [sink.bucket] takes a key of the store from it"
            )
        found.append(value)
    return Credentials(found[0], found[1], environment.get(section.session_token_env, ""))


def obstore_options(
    section: BucketSection, environment: Mapping[str, str] = os.environ
) -> dict[str, str | bool]:
    """Return the arguments of obstore's S3Store.  Raises: SetupError."""
    keys = credentials(section, environment)
    found: dict[str, str | bool] = {"region": section.region}
    if keys.access_key:
        found |= {"access_key_id": keys.access_key, "secret_access_key": keys.secret_key}
    if keys.token:
        found["session_token"] = keys.token
    if section.endpoint:
        found["endpoint"] = section.endpoint
    return found


def delta_options(section: BucketSection, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return deltalake's storage options: commits are objects created if absent.  Raises: SetupError."""
    keys = credentials(section, environment)
    found = {"AWS_REGION": section.region, "aws_conditional_put": "etag"}
    if keys.access_key:
        found |= {"AWS_ACCESS_KEY_ID": keys.access_key, "AWS_SECRET_ACCESS_KEY": keys.secret_key}
    if keys.token:
        found["AWS_SESSION_TOKEN"] = keys.token
    if section.endpoint:
        found["AWS_ENDPOINT_URL"] = section.endpoint
    if section.endpoint.startswith("http:"):
        found["AWS_ALLOW_HTTP"] = "true"
    return found


def iceberg_options(section: BucketSection, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the properties by which pyiceberg reaches the store.  Raises: SetupError."""
    keys = credentials(section, environment)
    found = {"s3.region": section.region}
    if keys.access_key:
        found |= {"s3.access-key-id": keys.access_key, "s3.secret-access-key": keys.secret_key}
    if keys.token:
        found["s3.session-token"] = keys.token
    if section.endpoint:
        found["s3.endpoint"] = section.endpoint
    return found
