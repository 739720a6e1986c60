"""A race at the start: a store whose conditional writes are not atomic is refused.

Eight threads create the same object, then eight threads replace it by the same etag.  Exactly one may
win each time, and the object must then have the winner's bytes.  With a store that lets several win, two
gateways could both write one log, and the records that one of them acknowledged would be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from threading import Barrier
from typing import Final

from wal.objects import ObjectChanged, ObjectExists, ObjectStore, StoreRefuses

RACERS: Final = 8
ROUNDS: Final = 3


def probe(store: ObjectStore, tag: str) -> None:
    """Race on objects of our own, whose keys hold `tag`, a text that no other process uses.

    Raises: StoreRefuses when the store is not safe; StoreAway.
    """
    for number in range(ROUNDS):
        key = f"probe/{tag}-{number}"
        try:
            etag = _race(store, key, ObjectExists, partial(store.create, key), b"created")
            # Other bytes than those that are there: the etag of many stores is a checksum of the bytes, and a
            # racer that wrote the same ones again would leave the etag by which the next one then wins, too.
            _race(store, key, ObjectChanged, partial(_replace, store, key, etag), b"replaced")
        finally:
            with suppress(Exception):
                store.remove(key)


def _replace(store: ObjectStore, key: str, etag: str, data: bytes) -> str:
    return store.replace(key, data, etag)


def _race(
    store: ObjectStore, key: str, lost: type[Exception], write: Callable[[bytes], str], what: bytes
) -> str:
    """Let all racers write at the same moment; return the etag of the one that won."""
    barrier = Barrier(RACERS)

    def run(racer: int) -> tuple[int, str] | None:
        barrier.wait()
        try:
            return racer, write(b"%s by racer %d" % (what, racer))
        except lost:
            return None

    with ThreadPoolExecutor(RACERS) as pool:
        winners = [result for result in pool.map(run, range(RACERS)) if result is not None]
    found = store.read(key)
    if len(winners) != 1 or found.data != b"%s by racer %d" % (what, winners[0][0]):
        could = "create one object" if lost is ObjectExists else "replace one object by the same etag"
        raise StoreRefuses(
            f"{store.name}: its conditional writes are not atomic: {len(winners)} of {RACERS} writers at once"
            f" could {could}; two gateways could both write a log, and acknowledged records of one would be"
            " lost: use another store, or a newer version of this one"
        )
    return found.etag
