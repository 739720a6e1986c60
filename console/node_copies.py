"""The nodes' copies in the object store in words: for `kawal doctor` and `kawal cluster copies`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker.config.node_keys import addresses_of
from console.steps import size_text
from wal.objects import ObjectStore, ObjectStoreError
from wal.remote.formats import RemoteDamaged
from wal.remote.heartbeat import ALIVE_INTERVALS, read_sign
from wal.remote.node_copies import NodeCopy, read_copy

if TYPE_CHECKING:
    from broker.config.config import Config

WAIT_SECONDS_MAX: Final = 10.0
"""The longest wait for another sign of a node whose last one looks old."""


@dataclass(frozen=True, slots=True)
class SeenCopy:
    """A node's copy at the time of the look."""

    copy: NodeCopy
    wall_ms: int
    """The time of this machine."""
    is_alive: bool
    """Whether its server gives signs of life."""

    @property
    def sign_age_ms(self) -> int | None:
        """The age of the last sign by both machines' clocks; None: there is none, or it tells no time."""
        sign = self.copy.sign
        return None if sign is None or not sign.time_ms else max(0, self.wall_ms - sign.time_ms)

    @property
    def cut_age_ms(self) -> int | None:
        """The age of the moment that the copy has, likewise."""
        return None if self.copy.cut is None else max(0, self.wall_ms - self.copy.cut.time_ms)


def stores_of(config: Config) -> dict[int, ObjectStore]:
    """Return the place of each node or worker, by number.  Raises: ConfigProblem."""
    from broker.server.object_store import open_store
    from broker.server.store_place import place_of
    from wal.remote.places import node_folder

    count = len(addresses_of(config.kawal_cluster_nodes)) or config.kawal_workers
    return {number: open_store(place_of(config), node_folder(number)) for number in range(count)}


def look_at(
    stores: Mapping[int, ObjectStore],
    cluster_id: str,
    *,
    wall_ms: Callable[[], int],
    wait: Callable[[float], object],
) -> list[SeenCopy]:
    """Read all copies; `wait` sleeps for some seconds, if a sign looks old: it is read once more then.

    A sign counts as new by the clocks of two machines, or as it changes.  Errors are in the answers.
    """
    seen = []
    for number, store in stores.items():
        copy = read_copy(store, number, cluster_id)
        now_ms = wall_ms()
        seen.append(SeenCopy(copy, now_ms, _is_new(copy, now_ms)))
    waits = [
        _sign_seconds(each.copy)
        for each in seen
        if not each.is_alive and each.copy.sign is not None and not each.copy.sign.ended
    ]
    if waits:
        wait(min(WAIT_SECONDS_MAX, max(waits)))
    return [each if each.is_alive else _again(stores[each.copy.number], each) for each in seen]


def _sign_seconds(copy: NodeCopy) -> float:
    """Return the time within which a server that is alive gives a sign."""
    return 0 if copy.sign is None else ALIVE_INTERVALS * copy.sign.interval_ms / 1_000


def _is_new(copy: NodeCopy, now_ms: int) -> bool:
    sign = copy.sign
    return sign is not None and abs(now_ms - sign.time_ms) <= 1_000 * _sign_seconds(copy)


def _again(store: ObjectStore, seen: SeenCopy) -> SeenCopy:
    """Return what was seen, alive if there is another sign by now."""
    copy = seen.copy
    if copy.sign is None:
        return seen
    try:
        return SeenCopy(copy, seen.wall_ms, read_sign(store, copy.cluster_id) != copy.sign)
    except (ObjectStoreError, RemoteDamaged):
        return seen


def copy_text(seen: SeenCopy) -> str:
    """Return one sentence about a copy that was read."""
    copy = seen.copy
    assert copy.cut is not None
    assert seen.cut_age_ms is not None
    text = f"{copy.place}: epoch {copy.cut.epoch}"
    if copy.sign is not None:
        is_served = seen.is_alive and not copy.sign.ended
        text += f", {'served' if is_served else 'last served'} at {served_at(copy)}"
    text += f"; its newest cut is {seconds_text(seen.cut_age_ms)} old"
    if copy.cut.journal is not None:
        text += f", and {copy.chunks} chunks of {size_text(copy.chunk_bytes)} are newer than that"
    return text


def served_at(copy: NodeCopy) -> str:
    """Return the addresses in the last sign of a copy's server."""
    assert copy.sign is not None
    told = sorted(set(copy.sign.listeners.values())) or [copy.sign.address]
    return " and ".join(told)


def sign_text(seen: SeenCopy) -> str:
    """Return when the last sign was given, by the clocks of two machines."""
    if seen.copy.sign is None:
        return "none"
    return "unknown" if seen.sign_age_ms is None else f"{seconds_text(seen.sign_age_ms)} ago"


def seconds_text(duration_ms: int) -> str:
    """Return a duration, as `0.4 s`, `42 s`, `3 h`."""
    seconds = duration_ms / 1_000
    if seconds < 10:
        return f"{seconds:.1f} s"
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def state_of(seen: SeenCopy) -> str:
    """Return a word or two for a table."""
    copy = seen.copy
    if copy.problem:
        return "store away" if copy.is_away else "unreadable"
    if copy.cut is None:
        return "no copy"
    if copy.cut.segments_missing:
        return "incomplete"
    if copy.sign is None:
        return "no signs"
    if copy.sign.epoch < copy.cut.epoch:
        return "taken over"
    if copy.sign.ended:
        return "ended"
    return "alive" if seen.is_alive else "silent"


def as_tree(seen: SeenCopy) -> dict[str, Any]:
    """Return what was seen, for programs; times in milliseconds, sizes in bytes."""
    copy, cut = seen.copy, seen.copy.cut
    return {
        "node": copy.number,
        "place": copy.place,
        "state": state_of(seen),
        "problem": copy.problem or None,
        "cluster": copy.cluster_id or None,
        "epoch": None if cut is None else cut.epoch,
        "served_at": None if copy.sign is None else served_at(copy),
        "sign_age_ms": seen.sign_age_ms,
        "cut_age_ms": seen.cut_age_ms,
        "segments_missing": None if cut is None else cut.segments_missing,
        "chunks": copy.chunks,
        "chunk_bytes": copy.chunk_bytes,
    }
