"""A database as the catalogue knows it, its policy, and the rules for a new or altered one.

A database is a set of write-ahead logs (vnodes) with one policy: how durable its records are, how its files
are cut, and the retention that its topics take when they have none of their own.  `default` always exists and
is the server's own; a setting that a database does not have is taken from the server's configuration.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Final, cast

from broker.config.config_keys import ConfigError, ConfigSource, nearest, text_of
from broker.config.database_keys import DATABASE_KEYS, FIXED, TOPIC_DEFAULTS, checked
from broker.config.described_configs import Described, Synonym
from broker.errors import RequestError
from protocol.error_codes import ErrorCode
from wal.options import Durability, LogOptions

if TYPE_CHECKING:
    from broker.catalogue.catalogue_records import DatabaseCreated
    from broker.config.config import Config

DEFAULT_DATABASE: Final = "default"

VNODES_MAX: Final = 1024
"""The most vnodes of a node, over all databases: each has its own files, and threads take turns at them."""

FILES_MS: Final = "wal.retention.ms"
"""The setting by which whole files are deleted."""

ROLL_MS_MIN: Final = 60_000
"""The least age at which a file is closed unless `wal.segment.ms` says so: each costs two syncs."""

_NAME: Final = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}")
_RESERVED: Final = ("meta",)


class Database:
    """One database; `recorded` is False until its record is durable.

    `first_vnode_count` is the number of vnodes that it was made with: topics whose records name none spread
    over these.

    `directory` is where its vnodes lie in the data directory, made from an id, never from the name.
    `durability` is the class at its creation; the one in effect is `durability_of`.
    """

    __slots__ = (
        "configs",
        "created_ms",
        "directory",
        "durability",
        "first_vnode_count",
        "name",
        "recorded",
        "topic_defaults",
        "vnode_count",
    )

    def __init__(self, record: DatabaseCreated) -> None:
        self.name = record.name
        self.directory = record.directory or record.name
        self.vnode_count = record.vnode_count
        self.first_vnode_count = record.first_vnode_count or record.vnode_count
        self.durability = record.durability
        self.created_ms = record.created_ms
        self.recorded = False
        self.configs: dict[str, str] = {}
        self.topic_defaults: dict[str, str] = {}
        self.set_configs(record.configs)

    def confirm(self) -> None:
        """Allow the use of the database, as its record is durable."""
        self.recorded = True

    def set_configs(self, configs: Mapping[str, str]) -> None:
        """Apply these (checked) settings."""
        self.configs = dict(configs)
        self.topic_defaults = {name: configs[name] for name in TOPIC_DEFAULTS if name in configs}
        if FILES_MS in configs:
            # Whole files are deleted, and no file before `retention.ms` is over.
            self.topic_defaults["retention.ms"] = "-1"

    @property
    def spread(self) -> int:
        """The number of vnodes for records of what is made now; 0 for those that it was made with."""
        return 0 if self.vnode_count == self.first_vnode_count else self.vnode_count

    @property
    def keeps_nothing(self) -> str:
        """The setting by which records are deleted at once, too early for any view; "" if none."""
        return _why_nothing(self.configs)


def _why_nothing(configs: Mapping[str, str]) -> str:
    """Return the setting that keeps no record, if that is so; of the two for ages the longer one counts."""
    own = {name: configs[name] for name in (FILES_MS, "retention.ms") if name in configs}
    return next(iter(own), "") if set(own.values()) == {"0"} else ""


def value_of(name: str, configs: Mapping[str, str], config: Config) -> str:
    """Return the setting `name` of a database with these settings: its own, else the server's."""
    own = configs.get(name)
    if own is not None:
        return own
    match name:
        case "retention.ms":
            return "-1" if FILES_MS in configs else str(config.retention_ms)
        case "segment.ms":
            return str(config.roll_ms)
        case "wal.segment.ms":
            retention_ms = int(configs.get(FILES_MS, "-1"))
            return str(max(retention_ms, ROLL_MS_MIN) if retention_ms >= 0 else -1)
        case _:
            key = DATABASE_KEYS[name]
            return text_of(config.value(key.synonyms[0]) if key.synonyms else key.default) or ""


def durability_of(configs: Mapping[str, str], config: Config) -> str:
    """Return the durability class, `disk`, `os` or `remote`."""
    return value_of("durability", configs, config)


def check_durability(configs: Mapping[str, str], config: Config) -> None:
    """Check that the server has what the durability needs.  Raises: RequestError(INVALID_CONFIG)."""
    if durability_of(configs, config) == "remote" and config.kawal_remote_store is None:
        text = "durability=remote needs a server with kawal.remote.store"
        raise RequestError(ErrorCode.INVALID_CONFIG, text)


RESERVE_BYTES: Final = 4 << 20
"""The room that each log keeps for a disk that others have filled: a segment of 1 MiB for the records of
deletions, and the checkpoints that let segments go."""


INDEX_CACHE_BYTES: Final = 32 << 20
"""The memory of all logs together for the indexes of closed segments."""

INDEX_CACHE_BYTES_MIN: Final = 1 << 20
"""The share of a log, however many there are: those of five segments with batches of 16 KiB."""

EXTENTS: Final = 1 << 18
"""The extents after which a segment is closed, in up to four logs; in more, all together have 50 MB of memory
for the indexes of their newest segments."""

EXTENTS_MIN: Final = 1 << 14
"""The share of a log, however many there are: 1 MB, and 1 MB of batches of 70 bytes."""


def log_options(config: Config, configs: Mapping[str, str], *, vnode_count: int) -> LogOptions:
    """Return the options of a database's logs; memory is divided among `vnode_count` vnodes."""
    return LogOptions(
        durability=cast("Durability", durability_of(configs, config)),
        segment_bytes=int(value_of("wal.segment.bytes", configs, config)),
        segment_extents_max=min(EXTENTS, max(EXTENTS_MIN, 4 * EXTENTS // max(1, vnode_count))),
        segment_ms=int(value_of("wal.segment.ms", configs, config)),
        tail_cache_bytes=config.kawal_tail_cache_bytes // max(1, vnode_count),
        index_cache_bytes=max(INDEX_CACHE_BYTES_MIN, INDEX_CACHE_BYTES // max(1, vnode_count)),
        flush_ms=int(value_of("flush.ms", configs, config)),
        min_free_bytes=config.kawal_min_free_bytes,
        checkpoint_ns=_checkpoint_ns(vnode_count),
        reserve_bytes=RESERVE_BYTES,
        delete_delay_ms=config.log_segment_delete_delay_ms,
        producer_expiry_ms=config.producer_id_expiration_ms,
        producers_per_stream_max=config.kawal_max_producers_per_partition,
        producers_bytes_max=config.kawal_producers_max_bytes // max(1, vnode_count),
        aborted_bytes_max=config.kawal_aborted_transactions_max_bytes // max(1, vnode_count),
        named_bytes_max=config.kawal_named_producers_max_bytes // max(1, vnode_count),
    )


def _checkpoint_ns(vnode_count: int) -> int:
    """Return each vnode's share of the time that a start after a crash may take for all of them.

    0.4 s for a few, as the rest of a start takes half a second; for more, 100 ms each up to 2.4 s in all, as
    a checkpoint has its own cost.
    """
    all_ns = max(400, min(100 * vnode_count, 2_400)) * 1_000_000
    return max(all_ns // max(1, vnode_count), 20_000_000)


def vnode_options(options: LogOptions, index: int) -> LogOptions:
    """Return the options of one of its vnodes."""
    return replace(options, vnode_id=index)


def described(database: Database, config: Config) -> list[Described]:
    """Return every setting with its value and its source, by name."""
    return [_described(name, database, config) for name in DATABASE_KEYS]


def _described(name: str, database: Database, config: Config) -> Described:
    own = str(database.vnode_count) if name == "vnodes" else database.configs.get(name)
    value = own if own is not None else value_of(name, database.configs, config)
    source = ConfigSource.DEFAULT_CONFIG if own is None else ConfigSource.DYNAMIC_TOPIC_CONFIG
    return Described(DATABASE_KEYS[name], value, source, (Synonym(name, value, source),))


# --- checks ------------------------------------------------------------------------------------------------


def check_database_name(name: str) -> None:
    """Refuse a name that no database can have.  Raises: RequestError(INVALID_REQUEST)."""
    if not _NAME.fullmatch(name) or name.lower() in _RESERVED:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            f"{name[:80]!r} cannot name a database: up to 64 letters, digits, '_', '-' and '.', the first one"
            " a letter, a digit or '_', and not 'meta'",
        )


def find_database(name: str, databases: Mapping[str, Database]) -> Database:
    """Return the database `name`.  Raises: RequestError(RESOURCE_NOT_FOUND), with the nearest name."""
    found = databases.get(name)
    if found is None or not found.recorded:
        raise RequestError(ErrorCode.RESOURCE_NOT_FOUND, no_such_database(name, databases))
    return found


def no_such_database(name: str, databases: Mapping[str, Database]) -> str:
    """Return a sentence that names the nearest existing database."""
    close = nearest(name, [database.name for database in databases.values() if database.recorded])
    hint = f"did you mean {close!r}?" if close else f"existing ones: {', '.join(sorted(databases)[:10])}"
    return f"there is no database {name[:80]!r}; {hint}"


def checked_settings(settings: Mapping[str, str | None]) -> dict[str, str]:
    """Return the settings as they are kept.  Raises: RequestError(INVALID_CONFIG)."""
    try:
        return checked(settings)
    except ConfigError as error:
        raise RequestError(ErrorCode.INVALID_CONFIG, str(error)) from error


def altered(database: Database, changes: Mapping[str, str | None], *, has_views: bool) -> dict[str, str]:
    """Return the database's settings after these changes; null removes a setting.  Raises: RequestError."""
    new = checked_settings({name: raw for name, raw in changes.items() if raw is not None})
    removed = [name for name, raw in changes.items() if raw is None]
    for name in removed:
        if name not in DATABASE_KEYS:
            close = nearest(name, DATABASE_KEYS)
            hint = f"; did you mean {close!r}?" if close else ""
            raise RequestError(ErrorCode.INVALID_CONFIG, f"{name!r} is not a setting of a database{hint}")
    for name in FIXED:
        if new.get(name, str(database.vnode_count)) != str(database.vnode_count) or name in removed:
            raise RequestError(
                ErrorCode.INVALID_CONFIG,
                f"{name!r} of database {database.name!r} is fixed at {database.vnode_count}: the streams of"
                " its topics are bound to their vnodes; SPLIT VGROUP adds a vnode for new ones",
            )
        new.pop(name, None)
    settings = {name: text for name, text in database.configs.items() if name not in removed} | new
    if has_views and (nothing := _why_nothing(settings)):
        raise RequestError(
            ErrorCode.POLICY_VIOLATION,
            f"database {database.name!r} has views, and {nothing}=0 would leave them nothing to show;"
            " delete the views first",
        )
    return settings
