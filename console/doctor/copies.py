"""The copies of nodes or workers in the store: who serves each, since when it is silent, how far it lags."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning
from console.node_copies import SeenCopy, copy_text, look_at, sign_text, stores_of
from wal.disk import OsDisk
from wal.objects import ObjectStore
from wal.store_marker import MARKER, read_marker


def check_copies(
    facts: Facts,
    config: Config,
    *,
    stores: Callable[[Config], Mapping[int, ObjectStore]] = stores_of,
    wait: Callable[[float], object] = time.sleep,
) -> Iterator[Finding]:
    """Tell of the copy of each node.  Nothing is said where there is no store, or it cannot be used."""
    if config.kawal_remote_store is None:
        if config.kawal_cluster_nodes:
            text = "no node has a copy of its logs in an object store (kawal.remote.store)"
            yield ok("copies", f"{text}: with a lost disk, the records of its node are lost")
        return
    try:
        places = stores(config)
    except ConfigProblem:
        return  # told by the check of the store
    seen = look_at(
        places, cluster_of(config.log_dirs), wall_ms=lambda: int(facts.wall_seconds * 1_000), wait=wait
    )
    for each in seen:
        yield _finding(each, len(seen), "worker" if config.kawal_workers > 1 else "node")


def cluster_of(path: str) -> str:
    """Return the cluster of a data directory, "" if there is none yet."""
    disk, marker = OsDisk(), f"{path}/{MARKER}"
    return read_marker(disk, marker).cluster_id if disk.exists(marker) else ""


def _finding(seen: SeenCopy, count: int, kind: str) -> Finding:
    """Judge one copy of so many nodes or workers."""
    copy = seen.copy
    name = f"{kind} {copy.number}" if count > 1 else "copy"
    flag = f" --node {copy.number}" if count > 1 else ""
    if copy.is_away:
        return warning(name, f"{copy.place}: {copy.problem}", "see what keeps the store from answering")
    if copy.problem:
        return problem(name, copy.problem, "look at what else is kept there, or give another place")
    if copy.cut is None:
        advice = "it appears once that server has run with kawal.remote.store; else correct the place"
        return warning(name, f"{copy.place} has no copy", advice)
    if copy.cut.part != (copy.number, count):
        number, found = copy.cut.part
        made_by = "worker" if copy.cut.workers > 1 else "node"
        text = f"{copy.place} is the copy of {made_by} {number} of {found}"
        advice = "correct kawal.remote.store, or kawal.workers"
        return problem(name, f"{text}, and not of {kind} {copy.number} of {count}", advice)
    text = copy_text(seen)
    if copy.cut.segments_missing:
        text += f"; {copy.cut.segments_missing} segments are not there yet"
        return warning(name, text, "until they are, it can neither be restored nor followed")
    if copy.sign is None:
        return ok(name, f"{text}; without kawal.remote.heartbeat.ms it tells not whether its server is alive")
    if copy.sign.epoch < copy.cut.epoch:
        text += "; another process has ended that server, and gives no sign yet"
        return warning(name, text, f"if it does not serve soon, start one again, or 'kawal standby{flag}'")
    if copy.sign.ended:
        return ok(name, f"{text}; that server ended cleanly {sign_text(seen)}")
    if not seen.is_alive:
        text += f"; its last sign of life: {sign_text(seen)}"
        return warning(name, text, f"start the server again, or let 'kawal standby{flag}' take its place")
    return ok(name, f"{text}; its last sign of life: {sign_text(seen)}")
