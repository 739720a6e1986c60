"""The durability classes in use: what each survives, and what waiting for an object store costs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from time import perf_counter
from typing import Final, NamedTuple

from broker.catalogue.catalogue_records import decode_record
from broker.catalogue.catalogue_replay import replay_all
from broker.catalogue.databases import DEFAULT_DATABASE, durability_of
from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.config.endpoints import parse_endpoint
from broker.storage.mixed_classes import ADVICE, mixed_classes
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning
from wal.backup_catalogue import catalogue_records
from wal.disk import Disk, OsDisk
from wal.objects import ObjectStore, ObjectStoreError, StoreRefuses
from wal.remote.journal import IN_FLIGHT_MAX
from wal.store import META
from wal.store_marker import MARKER, read_marker

SURVIVES: Final = {
    "os": "acknowledged records survive a killed process; a power failure takes up to flush.ms of them, a "
    "lost disk all that is not in a copy",
    "disk": "acknowledged records survive a killed process and a power failure; a lost disk takes all that "
    "is not in a copy",
    "remote": "acknowledged records survive a killed process, a power failure and the loss of disk or "
    "machine; of two servers on one store only the newer one acknowledges",
}
"""The failures that a class survives; docs/databases.md has the table."""

NAMED_MAX: Final = 3
PUTS: Final = 7
PUT_BYTES: Final = 4096
PUT_SLOW_SECONDS: Final = 0.25
"""Every producer feels acknowledgements slower than this."""
PUT_PRICE: Final = 0.005
"""Dollars for 1,000 requests, as an example."""
MONTH_SECONDS: Final = 730 * 3600
TIMEOUT_SECONDS: Final = 5.0
METRICS_BYTES_MAX: Final = 16 << 20


STOPPED: Final = 'kawal_remote_journal_state{state="fenced"}'
UNREADABLE: Final = "kawal_remote_journal_local_failures_total"
STARTED: Final = "process_start_time_seconds"
PUTS_SENT: Final = "kawal_remote_journal_puts_total"
BYTES_SENT: Final = "kawal_remote_journal_stored_bytes_total"
READ: Final = (STARTED, PUTS_SENT, BYTES_SENT, STOPPED, UNREADABLE)
"""The samples that are looked at; the first three are there with durability `remote`."""
WORKER: Final = re.compile(r',?worker="\d+",?')
"""The label of a sample of one of several workers, alone or beside others."""


class Sent(NamedTuple):
    """The requests of a running server for durability `remote`, on average since its start."""

    puts_a_second: float
    bytes_a_second: float
    has_stopped: bool = False
    """Whether nothing more is acknowledged until the next start."""
    local_failures: int = 0
    """Tries that the disk did not answer with what was written to it."""


def classes_in(disk: Disk, config: Config) -> dict[str, list[str]]:
    """Return the databases of each class in use; a server may have the directory open.  Raises: DiskError."""
    path = config.log_dirs
    if not disk.exists(f"{path}/{MARKER}") or not disk.exists(f"{path}/{META}"):
        return {config.kawal_durability: [DEFAULT_DATABASE]}
    found: dict[str, list[str]] = {}
    catalogue = replay_all(map(decode_record, catalogue_records(disk, f"{path}/{META}")))
    for name, database in catalogue.databases.items():
        found.setdefault(durability_of(database.configs, config), []).append(name)
    return found or {config.kawal_durability: [DEFAULT_DATABASE]}


def _is_without_catalogue(disk: Disk, path: str) -> bool:
    """Whether a directory is that of a node which has its catalogue from another one."""
    return disk.exists(f"{path}/{MARKER}") and read_marker(disk, f"{path}/{MARKER}").node > 0


def check_durability(disk: Disk, config: Config) -> Iterator[Finding]:
    """Tell what the classes in use survive; one that lacks its store keeps a server from starting."""
    if _is_without_catalogue(disk, config.log_dirs):
        text = "the catalogue, which knows the class of each database, is on node 0"
        yield ok("durability", f"{text}: 'kawal doctor' tells of them there")
        return
    found, by_name = classes_in(disk, config), dict[str, str]()
    for name, databases in sorted(found.items()):
        by_name |= dict.fromkeys(databases, name)
        more = f" and {len(databases) - NAMED_MAX} more" if len(databases) > NAMED_MAX else ""
        named = ", ".join(databases[:NAMED_MAX]) + more
        if name == "remote" and config.kawal_remote_store is None:
            text = f"{named}: durability 'remote' needs the object store of kawal.remote.store"
            yield problem("durability", text, "name it, as the server that made this directory had it")
        else:
            yield ok("durability", f"{named}: {name}: {SURVIVES[name]}")
    if (mixed := mixed_classes(by_name)) is not None:
        yield warning("durability", mixed, ADVICE)


def check_store(
    facts: Facts,
    config: Config,
    *,
    price: float = PUT_PRICE,
    measure: Callable[[Config], list[float]] | None = None,
    sent: Callable[[Config, float], Sent | None] | None = None,
) -> Iterator[Finding]:
    """Check that the object store can be trusted, how fast it is, and what durability `remote` costs.

    `price` is that of 1,000 requests; `measure` gives the seconds of some, `sent` what a server sends.
    """
    if config.kawal_remote_store is None:
        return
    try:
        taken = sorted((measure or put_seconds)(config))
    except (ConfigProblem, StoreRefuses) as error:
        yield problem(
            "store", str(error), "nothing is copied to it, and nothing that waits for it acknowledged"
        )
        return
    except ObjectStoreError as error:
        advice = "a server starts without it, and tries again until it answers"
        yield warning("store", f"the object store does not answer: {error}", advice)
        return
    middle = taken[len(taken) // 2]
    text = f"a PUT takes {middle * 1000:.1f} ms (median of {len(taken)}), {taken[-1] * 1000:.0f} ms at most"
    is_waited_for = "remote" in classes_in(OsDisk(), config)
    if is_waited_for and middle > PUT_SLOW_SECONDS:
        yield warning("store", text, "every acknowledgement waits for one: use a store that is nearer")
    else:
        yield ok("store", text)
    if is_waited_for:
        told = (sent or sent_by_server)(config, facts.wall_seconds)
        yield _cost(middle, told, price)
        yield from _journal(told)


def _cost(put_seconds: float, sent: Sent | None, price: float) -> Finding:
    """Tell the requests a month: those of a running server, and the most that there can be."""
    bound = f"at most {_month(IN_FLIGHT_MAX / put_seconds, price)} if something is written all the time"
    if sent is None:
        return ok("cost", f"durability 'remote' sends {bound}, nothing while nothing is written")
    gigabytes = sent.bytes_a_second * MONTH_SECONDS / 1e9
    now = f"{_month(sent.puts_a_second, price)}, and {gigabytes:,.1f} GB a month"
    return ok("cost", f"durability 'remote' has sent {now}, on average since the server's start; {bound}")


def _journal(told: Sent | None) -> Iterator[Finding]:
    """Tell what a running server says of its journal, if that is bad."""
    if told is not None and told.has_stopped:
        text = "the server acknowledges nothing more of durability 'remote' until the next start"
        yield problem("store", text, "the critical line in its log says why")
    if told is not None and told.local_failures:
        text = f"the disk did not give back {told.local_failures} times what the server had written to it"
        yield problem("store", text, "look at the disk, and run 'kawal wal verify'")


def _month(puts_a_second: float, price: float) -> str:
    puts = puts_a_second * MONTH_SECONDS
    cost = f"{puts / 1e6:,.1f} million a month, {puts / 1000 * price:,.2f} at {price:g} for 1,000"
    return f"{puts_a_second:,.2f} PUTs/s ({cost})"


def put_seconds(config: Config) -> list[float]:
    """Race on the store, and time some small objects.  Raises: ConfigProblem, ObjectStoreError."""
    import os

    from broker.server.object_probe import probe
    from broker.server.object_store import open_store
    from broker.server.store_place import place_of
    from wal.remote.places import node_folder

    store = open_store(place_of(config), node_folder(config.kawal_cluster_node or 0))
    tag = f"doctor-{os.urandom(8).hex()}"
    probe(store, tag)
    return timed_puts(store, tag)


def timed_puts(store: ObjectStore, tag: str, clock: Callable[[], float] = perf_counter) -> list[float]:
    """Create some objects and remove them; return the seconds of each.  Raises: ObjectStoreError."""
    taken = []
    for number in range(PUTS):
        began = clock()
        store.create(f"probe/{tag}-put-{number}", bytes(PUT_BYTES))
        taken.append(clock() - began)
        store.remove(f"probe/{tag}-put-{number}")
    return taken


def sent_by_server(config: Config, wall_seconds: float) -> Sent | None:
    """Return what the server at the configured address sends; None if none answers there with metrics."""
    if config.kawal_http_listen == "none":
        return None
    host, port = parse_endpoint(config.kawal_http_listen)
    connection = HTTPConnection(host, port, timeout=TIMEOUT_SECONDS)
    try:
        connection.request("GET", "/metrics")
        answer = connection.getresponse()
        if answer.status != 200:
            return None
        return sent_in(answer.read(METRICS_BYTES_MAX).decode(errors="replace"), wall_seconds)
    except (OSError, HTTPException):
        return None
    finally:
        connection.close()


def sent_in(text: str, wall_seconds: float) -> Sent | None:
    """Return what metrics say, of all workers together; None without those of durability `remote`."""
    found: dict[str, list[float]] = {}
    for line in text.splitlines():
        name, _, value = line.rpartition(" ")
        name = WORKER.sub("", name).replace("{}", "")
        if name in READ:
            try:
                found.setdefault(name, []).append(float(value))
            except ValueError:
                return None
    if not all(found.get(name) for name in READ[:3]):
        return None
    started, puts, size_bytes = min(found[STARTED]), sum(found[PUTS_SENT]), sum(found[BYTES_SENT])
    seconds = max(1.0, wall_seconds - started)
    unreadable = int(sum(found.get(UNREADABLE, [])))
    return Sent(puts / seconds, size_bytes / seconds, any(found.get(STOPPED, [])), unreadable)
