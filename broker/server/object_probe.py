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
            etag = _race(store, key, ObjectExists, partial(store.create, key))
            _race(store, key, ObjectChanged, partial(_replace, store, key, etag))
        finally:
            with suppress(Exception):
                store.remove(key)


def _replace(store: ObjectStore, key: str, etag: str, data: bytes) -> str:
    return store.replace(key, data, etag)


def _race(store: ObjectStore, key: str, lost: type[Exception], write: Callable[[bytes], str]) -> str:
    """Let all racers write at the same moment; return the etag of the one that won."""
    barrier = Barrier(RACERS)

    def run(racer: int) -> tuple[int, str] | None:
        barrier.wait()
        try:
            return racer, write(_bytes_of(racer))
        except lost:
            return None

    with ThreadPoolExecutor(RACERS) as pool:
        winners = [result for result in pool.map(run, range(RACERS)) if result is not None]
    found = store.read(key)
    if len(winners) != 1 or found.data != _bytes_of(winners[0][0]):
        what = "create one object" if lost is ObjectExists else "replace one object by the same etag"
        raise StoreRefuses(
            f"{store.name}: its conditional writes are not atomic: {len(winners)} of {RACERS} writers at once"
            f" could {what}; two gateways could both write a log, and acknowledged records of one would be"
            " lost: use another store, or a newer version of this one"
        )
    return found.etag


def _bytes_of(racer: int) -> bytes:
    return b"racer %d" % racer
