"""The comparison of a configuration file read again with the configuration of the running server.

    can take effect now    keys that AlterConfigs may change, and those in `ALSO_RELOADED`
    need a restart         all others: they were used up at the start (sockets, directories, sizes of caches)

The functions compute and change nothing; catalogue/live_config.py applies the result.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

from broker.config.config import Config, attribute_of, key_of
from broker.config.config_keys import Key, Value, text_of
from broker.config.listener_keys import is_listener_key, parts_of
from broker.config.server_keys import KEYS

ALSO_RELOADED: Final = frozenset({
    "broker.rack",
    "num.partitions",
    "default.replication.factor",
    "auto.create.topics.enable",
    "delete.topic.enable",
    "log.retention.minutes",
    "log.retention.hours",
    "log.retention.check.interval.ms",
    "log.roll.hours",
    "log.cleaner.enable",
    "kawal.durability",
    "kawal.flush.ms",
    "kawal.segment.bytes",
    "transaction.max.timeout.ms",
    "transactional.id.expiration.ms",
    "transaction.remove.expired.transaction.cleanup.interval.ms",
    "transaction.state.log.num.partitions",
    "offsets.topic.num.partitions",
    "offsets.retention.check.interval.ms",
    "group.consumer.assignors",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.keystore.key",
    "ssl.key.password",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.client.auth",
    "ssl.principal.mapping.rules",
    "ssl.enabled.protocols",
    "ssl.cipher.suites",
    "ssl.allow.dn.changes",
    "ssl.allow.san.changes",
    "kawal.connection.setup.timeout.ms",
    "socket.request.max.bytes",
    "fetch.max.bytes",
    "max.request.partition.size.limit",
    "connections.max.idle.ms",
    "socket.send.buffer.bytes",
    "queued.max.request.bytes",
    "kawal.connection.in.flight.bytes",
    "kawal.connection.in.flight.requests",
    "kawal.connection.unsent.bytes",
    "kawal.queued.max.response.bytes",
    "kawal.request.read.timeout.ms",
    "kawal.response.write.timeout.ms",
    "kawal.shutdown.timeout.ms",
    "kawal.metrics.partitions.max",
    "kawal.metrics.group.partitions.max",
    "kawal.metrics.share.groups.max",
    "kawal.log.format",
    "kawal.log.level",
})  # fmt: skip
"""Keys that clients may not change on a running server, as in Kafka, but that are read at each use.

Limits of a connection apply to those that connect afterwards, intervals from the next pass on.
"""

HIDDEN: Final = "(hidden)"


class KeyChange(NamedTuple):
    """A key whose value differs, both values as text; secrets are hidden."""

    name: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.name} {self.old} -> {self.new}"


class Reload(NamedTuple):
    """The outcome of reading the configuration again."""

    config: Config
    """The operator's configuration from now on: the new values of `changed`, the old ones of `waiting`."""
    changed: tuple[KeyChange, ...]
    waiting: tuple[KeyChange, ...]
    """Keys whose new value takes effect at the next start only."""


def can_reload(key: Key) -> bool:
    """Whether a new value in the configuration file takes effect without a restart."""
    name = parts_of(key.name).base if is_listener_key(key.name) else key.name
    return key.dynamic or name in ALSO_RELOADED


def reloaded(current: Config, read: Config) -> Reload:
    """Compare the operator's configuration in effect with one that was read (and checked) just now."""
    kept: dict[str, Any] = {}
    changed: list[KeyChange] = []
    waiting: list[KeyChange] = []
    own = current.listener_overrides.keys() | read.listener_overrides.keys()
    overrides: dict[str, Value] = {}
    for name, key in (KEYS | {name: key_of(name) for name in sorted(own)}).items():
        old, new = current.value(name), read.value(name)
        if name in own:
            source = read if can_reload(key) else current
            if name in source.listener_overrides:
                overrides[name] = source.listener_overrides[name]
        elif not can_reload(key):
            kept[attribute_of(key)] = old
        if old != new:
            change = KeyChange(name, _shown(key, old), _shown(key, new))
            (changed if can_reload(key) else waiting).append(change)
    kept["listener_overrides"] = overrides
    set_now = {name for name in read.set_by_operator if can_reload(key_of(name))}
    set_before = {name for name in current.set_by_operator if not can_reload(key_of(name))}
    config = replace(read, set_by_operator=frozenset(set_now | set_before), **kept)
    return Reload(config, tuple(changed), tuple(waiting))


def _shown(key: Key, value: Any) -> str:
    if key.sensitive:
        return HIDDEN
    text = text_of(value)
    return "(not set)" if text is None else repr(text) if not text or " " in text else text
