"""`kawal wal orphans` and `adopt`: streams in the logs without a topic are shown, and made one.

The server must be stopped: the data directory is opened as it would open it, and closed cleanly.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import SystemRandom
from time import time_ns

from broker.catalogue.orphans import Orphan
from broker.config.config import Config
from broker.core import Broker
from broker.errors import RequestError
from broker.start import open_broker
from console.errors import CommandError, UsageError
from wal.disk import OsDisk
from wal.store_marker import MARKER, read_marker

STREAMS = re.compile(r"(\d{1,18})(?:-(\d{1,18}))?")

PARTITIONS_MAX = 1 << 20
"""More streams than one topic can have."""


@contextmanager
def offline_broker(path: str) -> Iterator[Broker]:
    """Open a data directory whose server is stopped.  Raises: CommandError, StoreError, DiskError."""
    if not OsDisk().exists(f"{path}/{MARKER}"):
        raise CommandError(f"{path} is not a data directory: it has no kawal.json")
    identity = read_marker(OsDisk(), f"{path}/{MARKER}")
    if identity.nodes > 1:
        raise CommandError(
            f"{path} is the directory of node {identity.node} of {identity.nodes} nodes: which streams belong"
            " to topics is known only while the nodes run; the log of each tells of those without one"
        )
    now_ms = time_ns() // 1_000_000
    config = replace(Config(), log_dirs=path)
    broker = open_broker(OsDisk(), config, random=SystemRandom(), now_ms=now_ms, wall_ms=now_ms)
    try:
        yield broker
        _settle(broker, now_ms)
    finally:
        broker.close(now_ms)


def _settle(broker: Broker, now_ms: int) -> None:
    """Do the disk work that there is.  Raises: DiskError."""
    while jobs := list(broker.take_jobs(now_ms)):
        for vnode, job in jobs:
            job.run()
            broker.job_done(vnode, job, None, now_ms)


def show(path: str, *, as_json: bool) -> Iterator[str]:
    """Yield a line for each orphan.  Raises: CommandError, StoreError, DiskError."""
    with offline_broker(path) as broker:
        if not broker.topics.orphans and not as_json:
            yield f"{path}: every stream belongs to a topic"
        for orphan in broker.topics.orphans:
            yield json.dumps(_tree(orphan)) if as_json else _line(orphan)


def _tree(orphan: Orphan) -> dict[str, object]:
    start, end = orphan.offsets
    return {
        "database": orphan.vnode.database,
        "vnode": orphan.vnode.index,
        "stream": orphan.stream_id,
        "log_start": start,
        "log_end": end,
        "size_bytes": orphan.size_bytes,
    }


def _line(orphan: Orphan) -> str:
    start, end = orphan.offsets
    return (
        f"stream {orphan.stream_id} on {orphan.vnode.name}: offsets {start} to {end - 1}, "
        f"{orphan.size_bytes} bytes"
    )


def adopt(path: str, topic: str, streams: str, database: str) -> str:
    """Make orphans a topic; return what was done.  Raises: CommandError, StoreError, DiskError."""
    match = STREAMS.fullmatch(streams)
    if match is None:
        raise UsageError(f"--streams {streams!r} is neither a number nor two with a dash: 5 or 5-8")
    first = int(match[1])
    last = int(match[2] or first)
    if not first <= last < first + PARTITIONS_MAX:
        raise UsageError(f"--streams {streams!r}: give the lower number first, and the streams of one topic")
    with offline_broker(path) as broker:
        try:
            made = broker.topics.adopt(
                topic, database=database, first=first, last=last, now_ms=broker.clock.turn_ms
            )
        except RequestError as error:
            raise CommandError(str(error) or error.code.name) from error
    return f"topic {topic!r} has {made.partition_count} partitions: streams {first} to {last}"
