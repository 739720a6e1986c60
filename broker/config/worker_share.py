"""The configuration of one worker, of that of the server: its id, its ports, and its share of the limits.

What is a limit of the whole server is divided by the number of workers, rounded up; what is one of a
connection, a partition or a request is not.  A limit of connections that is not set stays so.  Settings that
clients change at run time are not divided: they are those of each worker.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final

from broker.config.config import Config
from broker.config.config_keys import Value
from broker.config.listener_keys import LIMITS_OF_LISTENERS, PREFIX
from broker.config.listener_specs import parse_address
from broker.config.quota_keys import INT_MAX, per_ip_overrides
from broker.config.server_keys import KEYS

DIVIDED: Final = (
    "kawal.tail.cache.bytes",
    "kawal.views.cache.bytes",
    "kawal.views.keys.bytes",
    "kawal.views.compiled.bytes",
    "kawal.producers.max.bytes",
    "kawal.named.producers.max.bytes",
    "kawal.transactions.max.bytes",
    "kawal.aborted.transactions.max.bytes",
    "kawal.groups.max.bytes",
    "kawal.offsets.max.bytes",
    "kawal.share.states.max.bytes",
    "kawal.share.ranges.max.bytes",
    "kawal.fetch.session.cache.bytes",
    "kawal.remote.cache.bytes",
    "remote.log.manager.copy.max.bytes.per.second",
    "remote.log.manager.fetch.max.bytes.per.second",
    "max.incremental.fetch.session.cache.slots",
    "queued.max.request.bytes",
    "kawal.queued.max.response.bytes",
    "log.cleaner.dedupe.buffer.size",
    "max.connections",
    "max.connections.per.ip",
    "max.connection.creation.rate",
)
"""Keys whose values are shared by all workers, besides `max.connections.per.ip.overrides`, and the limits of
single listeners."""

NO_LIMIT: Final = (INT_MAX, 2**63 - 1)
"""Values that stand for none."""


def of_worker(config: Config, number: int, count: int) -> Config:
    """Return the configuration of worker `number` of `count`."""
    changed: dict[str, Any] = {
        "node_id": config.node_id + number,
        "listeners": _moved(config.listeners, number),
        "advertised_listeners": _moved(config.advertised_listeners, number),
        "max_connections_per_ip_overrides": _shared_overrides(config, count),
        "listener_overrides": {
            name: share_of(value, count) if _is_shared(name) else value
            for name, value in config.listener_overrides.items()
        },
    }
    for name in DIVIDED:
        least = KEYS[name].minimum
        changed[name.replace(".", "_")] = max(share_of(config.value(name), count), int(least or 0))
    return replace(config, **changed)


def share_of(limit: Value, count: int) -> int:
    """Return the part of a limit that one of `count` workers has; no limit stays none."""
    assert isinstance(limit, int)
    return limit if limit < 0 or limit in NO_LIMIT else -(-limit // count)


def _is_shared(name: str) -> bool:
    """Whether a key of a listener is a limit of all workers together."""
    return name.startswith(PREFIX) and name.endswith(LIMITS_OF_LISTENERS)


def _shared_overrides(config: Config, count: int) -> str:
    """Return `max.connections.per.ip.overrides` with each count divided."""
    limits = per_ip_overrides(config.max_connections_per_ip_overrides)
    return ",".join(f"{host}:{share_of(limit, count)}" for host, limit in limits.items())


def _moved(addresses: Iterable[str], number: int) -> tuple[str, ...]:
    """Return addresses with the ports of worker `number`; a port that is still to be chosen stays 0."""
    return tuple(_moved_address(text, number) for text in addresses)


def _moved_address(text: str, number: int) -> str:
    name, endpoint = parse_address(text)
    if not endpoint.port:
        return text
    moved = endpoint._replace(port=endpoint.port + number)
    return f"{name}://{moved.text}" if name else moved.text
