"""Signs of life in the object store, for a standby that is to take a server's place.

    <cluster id>/heartbeat := JSON, changed by compare and set every `interval_ms`

Nothing that must be right depends on it: who takes over too early ends a server that is alive, and the
journal's FENCE sees to it that this one acknowledges nothing more.  No clock is compared with another one's:
the one who watches measures for how long the object has not changed.

A server that ends cleanly says farewell by its last sign, so that the next start in its place need not look
for a server that is alive.  That it is said too early, or late, or by a server that goes on all the same,
costs nothing acknowledged: the next one fences it before it acknowledges anything, as without a farewell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from wal.objects import Fenced, NoSuchObject, ObjectReads, ObjectStore, StoredObject, swap
from wal.remote.formats import CUT, RemoteDamaged, open_cut

HEARTBEAT: Final = "heartbeat"
ALIVE_INTERVALS: Final = 2.5
"""A server that is alive gives a sign within this many intervals."""
ALIVE_LOOKS: Final = 5
LOOKS_MIN: Final = 3
"""A server is silent only if the same sign was seen so often, besides for so long."""


class Sign(Struct, frozen=True, kw_only=True):
    """One sign of life."""

    epoch: int
    """That of the cut: a process with a higher one has taken over."""
    incarnation: str
    count: int
    interval_ms: int
    address: str
    """Where clients reach the server, for people."""
    number: int = 0
    """The node's number in its cluster; the first one, and a server that is alone, has 0."""
    inner: str = ""
    """HOST:PORT at which the other nodes of the cluster reach it, "" where there are none."""
    listeners: dict[str, str] = {}
    """HOST:PORT that clients are told, by the name of the listener."""
    time_ms: int = 0
    """Milliseconds since 1970 by the server's clock, for people: nothing is decided by it."""
    ended: bool = False
    """The server has ended cleanly: this was its last sign."""


class Places(NamedTuple):
    """The addresses of a server."""

    address: str
    """For people."""
    number: int = 0
    inner: str = ""
    listeners: Mapping[str, str] = {}


def heartbeat_key(prefix: str) -> str:
    """Return the object's key; `prefix` is the cluster id."""
    return f"{prefix}/{HEARTBEAT}"


def read_sign(store: ObjectReads, prefix: str) -> Sign | None:
    """Return the last sign, None if there is none.  Raises: RemoteDamaged; ObjectStoreError."""
    found = _find(store, prefix)
    return None if found is None else _decoded(store, prefix, found)


def _find(store: ObjectReads, prefix: str) -> StoredObject | None:
    try:
        return store.read(heartbeat_key(prefix))
    except NoSuchObject:
        return None


def _decoded(store: ObjectReads, prefix: str, found: StoredObject) -> Sign:
    try:
        return msgspec.json.decode(found.data, type=Sign)
    except msgspec.MsgspecError as error:
        raise RemoteDamaged(f"{store.name}/{heartbeat_key(prefix)}: not a sign of life ({error})") from error


class Heart:
    """A process's own signs; one thread at a time uses it."""

    def __init__(
        self,
        store: ObjectStore,
        *,
        prefix: str,
        incarnation: str,
        interval_ms: int,
        places: Places,
        wall_ms: Callable[[], int] = lambda: 0,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._incarnation = incarnation
        self._interval_ms = interval_ms
        self._places = places
        self._wall_ms = wall_ms
        self._count = 0

    def beat(self, epoch: int) -> None:
        """Give a sign.  Raises: Fenced when another process has taken over; ObjectStoreError."""
        self._give(epoch, ended=False)

    def farewell(self, epoch: int) -> None:
        """Give the last sign, after which this process acknowledges nothing.  Raises: as `beat`.

        If a sign is on its way in another thread it may win: then there is no farewell.
        """
        self._give(epoch, ended=True)

    def _give(self, epoch: int, *, ended: bool) -> None:
        self._count += 1
        sign = Sign(
            epoch=epoch,
            incarnation=self._incarnation,
            count=self._count,
            interval_ms=self._interval_ms,
            address=self._places.address,
            number=self._places.number,
            inner=self._places.inner,
            listeners=dict(self._places.listeners),
            time_ms=self._wall_ms(),
            ended=ended,
        )
        etag = self._etag(epoch)
        try:
            swap(self._store, heartbeat_key(self._prefix), msgspec.json.encode(sign), etag)
        except Fenced:
            # It may have been an earlier sign of ours, which was late: then the next one will do.
            self._etag(epoch)

    def _etag(self, epoch: int) -> str | None:
        """Return the etag of the last sign, None if there is none.  Raises: Fenced by a successor."""
        found = _find(self._store, self._prefix)
        if found is None:
            return None
        last = _decoded(self._store, self._prefix, found)
        if last.epoch > epoch:
            where = f"{self._store.name}/{heartbeat_key(self._prefix)}"
            raise Fenced(f"{where}: another server, {last.address}, has taken over")
        return found.etag


def refuse_while_alive(store: ObjectReads, prefix: str, *, wait: Callable[[float], object]) -> None:
    """Look for signs of another server, before its place is taken; `wait` sleeps for some seconds.

    A server that was replaced may be started again by a script, and would end its successor.
    Raises: Fenced when one is alive; RemoteDamaged; ObjectStoreError.
    """
    first = read_sign(store, prefix)
    if first is None or (first.ended and not _has_successor(store, prefix, first)):
        return
    for _ in range(ALIVE_LOOKS):
        wait(ALIVE_INTERVALS * first.interval_ms / 1_000 / ALIVE_LOOKS)
        last = read_sign(store, prefix)
        if last is not None and last != first:
            raise Fenced(
                f"{store.name}: another server, {last.address}, gives signs of life there; end it first, or"
                " follow it by 'kawal standby' with a new directory"
            )


def _has_successor(store: ObjectReads, prefix: str, sign: Sign) -> bool:
    """Whether a process has taken over after a sign was given, or may have, and gives none yet."""
    try:
        found = store.read(f"{prefix}/{CUT}")
    except NoSuchObject:
        return True
    return open_cut(found.data, f"{store.name}/{prefix}/{CUT}").epoch > sign.epoch


class Silence:
    """Whether a server has been silent for long; times are those of a clock that never jumps."""

    def __init__(self, after_ms: int) -> None:
        self._after_ms = after_ms
        self._sign: Sign | None = None
        self._since_ms: int | None = None
        self._looks = 0

    def saw(self, sign: Sign, now_ms: int) -> None:
        """Note what a look has found."""
        if sign != self._sign or self._since_ms is None:
            self._sign, self._since_ms, self._looks = sign, now_ms, 0
        self._looks += 1

    def could_not_look(self) -> None:
        """Begin anew: who cannot reach the store knows nothing of the other one."""
        self._since_ms = None

    def lasted_ms(self, now_ms: int) -> int:
        """Return for how long the sign has been the same."""
        return 0 if self._since_ms is None else now_ms - self._since_ms

    def is_long(self, now_ms: int) -> bool:
        """Whether the server counts as gone."""
        return self._looks >= LOOKS_MIN and self.lasted_ms(now_ms) >= self._after_ms
