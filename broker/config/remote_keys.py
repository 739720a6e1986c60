"""The keys of the copy in an object store."""

from __future__ import annotations

import re
from typing import Final

from broker.config.config_keys import ConfigType, Key, Value

BUCKET_URL: Final = re.compile(r"s3://(?P<bucket>[a-z0-9][a-z0-9.-]{1,61}[a-z0-9])(/(?P<prefix>.*))?")
ENDPOINT: Final = re.compile(r"https?://[^/\s@]+/?")


def url_problem(url: Value) -> str | None:
    """Return what is wrong with the address of a store."""
    if not url:
        return None
    found = BUCKET_URL.fullmatch(str(url))
    levels = (found["prefix"] or "x").rstrip("/").split("/") if found else ()
    if found is None or any(level in ("", ".", "..") for level in levels):
        return (
            "is not s3://BUCKET/PREFIX, with a bucket's name of 3 to 63 small letters, digits, '.' and '-', "
            "and a prefix without empty levels"
        )
    return None


def endpoint_problem(endpoint: Value) -> str | None:
    """Return what is wrong with the endpoint of a store that is not Amazon's."""
    if endpoint and not ENDPOINT.fullmatch(str(endpoint)):
        return "is not http://HOST:PORT or https://HOST:PORT"
    return None


REMOTE_KEYS = (
    Key(
        "kawal.remote.store",
        ConfigType.STRING,
        None,
        "Object store to which all logs are copied while they grow, `s3://BUCKET/PREFIX`; `kawal restore` "
        "makes a data directory from the copy.  Each worker copies the logs that it leads: with another "
        "number of workers the copy needs another place.  It needs `kawal[remote]`, and takes credentials "
        "from the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN, or from what the "
        "machine is given.",
        check=url_problem,
    ),
    Key(
        "kawal.remote.endpoint",
        ConfigType.STRING,
        "",
        "Address of a store that is not Amazon S3, `https://HOST:PORT`.",
        check=endpoint_problem,
    ),
    Key(
        "kawal.remote.region",
        ConfigType.STRING,
        "us-east-1",
        "Region that requests to the store are signed for.",
    ),
    Key(
        "kawal.remote.lag.ms",
        ConfigType.LONG,
        5_000,
        "How far the copy trails the logs: one round begins this long after the one before.  "
        "A round in which a log has grown takes a request for that log, and one for all.",
        minimum=100,
        maximum=3_600_000,
        unit="ms",
    ),
    Key(
        "kawal.remote.delete.delay.ms",
        ConfigType.LONG,
        3_600_000,
        "How long objects that the copy does not need any more are kept: a restore that has begun may still "
        "read them.",
        minimum=1_000,
        unit="ms",
    ),
    Key(
        "kawal.remote.heartbeat.ms",
        ConfigType.INT,
        0,
        "How often the server says in the object store that it is alive, with one request, so that `kawal "
        "standby` on another machine can take its place; 0: never.  It needs one worker, kawal.workers=1.",
        minimum=0,
        maximum=3_600_000,
        unit="ms",
    ),
    Key(
        "kawal.remote.history.ms",
        ConfigType.LONG,
        0,
        "How long past moments of the copy are kept, one a minute, for `kawal restore --at`; 0: none.  "
        "Objects that the copy does not need any more are kept as long.",
        minimum=0,
        maximum=31_536_000_000,
        unit="ms",
    ),
    Key(
        "kawal.remote.cache.bytes",
        ConfigType.LONG,
        64 << 20,
        "Memory for what is read back from the object store, of topics with remote.storage.enable: blocks of "
        "4 MiB that all readers share; workers have a part each, 16 MiB at least.",
        minimum=16 << 20,
        unit="bytes",
    ),
    Key(
        "remote.log.manager.copy.max.bytes.per.second",
        ConfigType.LONG,
        2**63 - 1,
        "Most bytes copied to the object store in a second, on average.",
        minimum=1,
        unit="bytes",
        dynamic=True,
    ),
    Key(
        "remote.log.manager.fetch.max.bytes.per.second",
        ConfigType.LONG,
        2**63 - 1,
        "Most bytes that are read from the object store in a second, on average: by clients, and to prove "
        "that old segments may leave the disk.",
        minimum=1,
        unit="bytes",
        dynamic=True,
    ),
)
