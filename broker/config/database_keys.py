"""The table of a database's settings, and TDengine's names for them with their meanings translated.

A setting that a database does not have is the server's: `durability` falls back to kawal.durability,
`retention.ms` to log.retention.ms and so on.  TDengine's options look alike but mean other things, so they
are translated, not copied (`translated`):

    VGROUPS n                  vnodes=n
    WAL_LEVEL 1                durability=os: written, the system syncs
    WAL_LEVEL 2                durability=disk, or with WAL_FSYNC_PERIOD above 0 durability=os
    WAL_LEVEL 0                refused: there is no database whose records are not written
    WAL_FSYNC_PERIOD 0         durability=disk: each write is synced
    WAL_FSYNC_PERIOD ms        flush.ms=ms; alone it does not weaken the durability
    WAL_RETENTION_PERIOD s     wal.retention.ms=1000 s; -1: for ever; 0: at once, and no views
    WAL_RETENTION_SIZE KB      wal.retention.bytes=1024 KB; 0 and -1: no limit
    WAL_ROLL_PERIOD s          wal.segment.ms=1000 s; 0: no roll by time
    WAL_SEGMENT_SIZE KB        wal.segment.bytes=1024 KB, at least 1 MiB; 0: the server's, as files are
                               allocated in advance
    KEEP n, n[d|h|m]           retention.ms, of several values the longest; the log is the data, so with
                               WAL_RETENTION_PERIOD the longer of the two counts
    PRECISION 'ms'|'us'|'ns'   precision: that of CREATE STABLE's timestamps
    REPLICA 1                  nothing: this is what there is; others are refused

As in TDengine, the size is that of a vnode's log, and the age counts from the moment a file was closed.
`retention.*` and `segment.*` are Kafka's: of one topic-partition, by the timestamps of records.
Source: TDengine, documentation of CREATE DATABASE.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from broker.config.config_keys import ConfigError, ConfigType, Key, nearest, text_of
from broker.config.table_keys import AUTO, DATABASE_NAME, SQL

MIB: Final = 1 << 20
HOUR_MS: Final = 3_600_000
INT_MAX, LONG_MAX = 2**31 - 1, 2**63 - 1

# fmt: off
_TABLE: tuple[Key, ...] = (
    Key("deletion.protected", ConfigType.BOOLEAN, None,
        "Refuse to drop it, and to delete its topics or their records where they do not say otherwise.",
        synonyms=("kawal.deletion.protected",)),
    Key("drop.policy", ConfigType.STRING, None,
        "Whether its topics, and views of them, can be deleted while members of a group subscribe to them:"
        " `always`, or `refuse`.",
        choices=("always", "refuse"), synonyms=("kawal.drop.policy",)),
    Key("durability", ConfigType.STRING, None,
        "What acks=all waits for: `disk` until records are synced, `os` until they are in the page cache,"
        " `remote` until they are in the object store, too.",
        choices=("disk", "os", "remote"), synonyms=("kawal.durability",)),
    Key("flush.ms", ConfigType.INT, None, "How often durability `os` syncs.",
        minimum=1, maximum=HOUR_MS, unit="ms", synonyms=("kawal.flush.ms",)),
    Key("max.partitions", ConfigType.INT, None,
        "Most partitions of its topics; creating more is answered with POLICY_VIOLATION.",
        minimum=1, unit="partitions", synonyms=("kawal.max.partitions",)),
    Key("precision", ConfigType.STRING, "ms",
        "Unit of the timestamps of supertables that CREATE STABLE creates from now on.",
        choices=("ms", "us", "ns")),
    Key("retention.bytes", ConfigType.LONG, None,
        "Size at which a partition's oldest records are deleted, for topics that set none; -1: no limit.",
        minimum=-1, unit="bytes", synonyms=("log.retention.bytes",)),
    Key("retention.ms", ConfigType.LONG, None,
        "Age at which records are deleted, for topics that set none; -1 keeps them for ever.",
        minimum=-1, unit="ms", synonyms=("log.retention.ms",)),
    Key("segment.bytes", ConfigType.INT, None,
        "Size of a logical segment, the unit in which retention deletes, for topics that set none.",
        minimum=MIB, unit="bytes", synonyms=("log.segment.bytes",)),
    Key("segment.ms", ConfigType.LONG, None,
        "Age at which a logical segment ends, for topics that set none.",
        minimum=1, unit="ms", synonyms=("log.roll.ms",)),
    Key(DATABASE_NAME, ConfigType.STRING, SQL,
        "`kawal.tables.declare` of topics that are created in it from now on without their own.",
        choices=(SQL, AUTO)),
    Key("vnodes", ConfigType.INT, None,
        "Write-ahead logs of the database; fixed when it is created.",
        minimum=1, maximum=256, unit="vnodes", synonyms=("kawal.vnodes",)),
    Key("wal.retention.bytes", ConfigType.LONG, "-1",
        "Size of a vnode's records above which those of its oldest closed files are deleted, for topics"
        " without a `retention.ms` of their own; -1: no limit.",
        minimum=-1, unit="bytes"),
    Key("wal.retention.ms", ConfigType.LONG, "-1",
        "Age of a closed file of a vnode at which its records are deleted, for topics without a"
        " `retention.ms` of their own; -1: no limit. Where it is set, `log.retention.ms` does not apply to"
        " these topics.",
        minimum=-1, unit="ms"),
    Key("wal.segment.bytes", ConfigType.INT, None,
        "Size of the files of its write-ahead logs, allocated in advance.",
        minimum=MIB, maximum=1024 * MIB, unit="bytes", synonyms=("kawal.segment.bytes",)),
    Key("wal.segment.ms", ConfigType.LONG, None,
        "Age at which the next write closes a file of a vnode; -1: its size alone does. Unless set it is"
        " `wal.retention.ms`, at least a minute, where that is set.",
        minimum=-1, unit="ms"),
)
# fmt: on

DATABASE_KEYS: dict[str, Key] = {key.name: key for key in _TABLE}
"""Every setting of a database by name."""

TOPIC_DEFAULTS: Final = ("retention.bytes", "retention.ms", "segment.bytes", "segment.ms")
"""Settings that a database's topics take when they have no value of their own."""

FIXED: Final = ("vnodes",)
"""Settings that cannot be changed once the database exists."""

Translation = Callable[[int, Mapping[str, int]], dict[str, int | str]]
"""From an option's number and all given options to our settings."""


def _level(level: int, given: Mapping[str, int]) -> dict[str, int | str]:
    if level == 2:
        return {"durability": "os" if given.get("WAL_FSYNC_PERIOD", 0) > 0 else "disk"}
    return {"durability": "os"}


def _fsync_period(period_ms: int, given: Mapping[str, int]) -> dict[str, int | str]:
    if period_ms:
        return {"flush.ms": period_ms}
    # With level 1 the period has no meaning.
    return {} if "WAL_LEVEL" in given else {"durability": "disk"}


def _times(name: str, factor: int, *, unlimited: Mapping[int, int]) -> Translation:
    def translate(number: int, _given: Mapping[str, int]) -> dict[str, int | str]:
        return {name: unlimited.get(number, number * factor)}

    return translate


def _segment_size(size_kb: int, _given: Mapping[str, int]) -> dict[str, int | str]:
    return {"wal.segment.bytes": max(MIB, 1024 * size_kb)} if size_kb else {}


def _nothing(_number: int, _given: Mapping[str, int]) -> dict[str, int | str]:
    return {}


ALIASES: dict[str, tuple[int, int, Translation]] = {
    "VGROUPS": (1, 256, _times("vnodes", 1, unlimited={})),
    "WAL_LEVEL": (1, 2, _level),
    "WAL_FSYNC_PERIOD": (0, 180_000, _fsync_period),
    "WAL_RETENTION_PERIOD": (-1, INT_MAX, _times("wal.retention.ms", 1000, unlimited={-1: -1})),
    "WAL_RETENTION_SIZE": (-1, INT_MAX, _times("wal.retention.bytes", 1024, unlimited={-1: -1, 0: -1})),
    "WAL_ROLL_PERIOD": (0, INT_MAX, _times("wal.segment.ms", 1000, unlimited={0: -1})),
    "WAL_SEGMENT_SIZE": (0, MIB, _segment_size),
    "KEEP": (1, LONG_MAX, _times("retention.ms", 1, unlimited={})),
    "REPLICA": (1, 1, _nothing),
}
"""TDengine's options: least and largest number, and what they mean here."""


PRECISION: Final = "PRECISION"
"""TDengine's option whose value is a word; it is the setting of the same name."""

REFUSED: Final = {
    ("WAL_LEVEL", "0"): "every record is written; levels are 1 (not synced) and 2 (synced)",
    ("REPLICA", "2"): "there is one replica of a database, on this node; leave it out, or say 1",
    ("REPLICA", "3"): "there is one replica of a database, on this node; leave it out, or say 1",
}
"""Values that mean something to TDengine and that no database has here."""

_KEEP: Final = re.compile(r"(\d{1,9})([dhm]?)", re.IGNORECASE)
_KEEP_UNITS_MS: Final = {"": 24 * HOUR_MS, "d": 24 * HOUR_MS, "h": HOUR_MS, "m": 60_000}

LISTED: Final = f"{', '.join(DATABASE_KEYS)}, and TDengine's {', '.join([*ALIASES, PRECISION])}"
"""The names of all settings, for messages."""


def checked(settings: Mapping[str, str | None]) -> dict[str, str]:
    """Return settings by our names in canonical text, from ours and TDengine's.  Raises: ConfigError."""
    result = {}
    for name, raw in translated(settings).items():
        key = DATABASE_KEYS.get(name)
        if key is None:
            # `nearest` compares in small letters, with dots.
            known = {option.lower().replace("_", "."): option for option in (*ALIASES, *DATABASE_KEYS)}
            close = known.get(nearest(name, known), "")
            raise ConfigError(
                name, None, f"is not a setting of a database; those are {LISTED}", nearest=close
            )
        if raw is None:
            raise ConfigError(name, "null", "a value is needed")
        result[name] = text_of(key.parse(raw)) or ""
    return result


def translated(settings: Mapping[str, str | None]) -> dict[str, str | None]:
    """Return the settings with TDengine's options replaced.

    Raises: ConfigError when one is wrong or two disagree.
    """
    settings = {
        PRECISION.lower() if name.upper() == PRECISION else name: raw for name, raw in settings.items()
    }
    options = {name: raw for name, raw in settings.items() if name.upper() in ALIASES}
    given = {name.upper(): _number(name, raw) for name, raw in options.items()}
    result = {name: raw for name, raw in settings.items() if name not in options}
    said_by = dict.fromkeys(result, "")
    for name, number in given.items():
        for ours, value in ALIASES[name][2](number, given).items():
            if ours in result and result[ours] != str(value):
                raise ConfigError(
                    name, number, f"means {ours}={value}, but {said_by[ours] or ours} says {result[ours]}"
                )
            result[ours], said_by[ours] = str(value), name
    return result


def _number(name: str, raw: str | None) -> int:
    least, largest, _ = ALIASES[name.upper()]
    key = Key(name, ConfigType.LONG, None, "", minimum=least, maximum=largest)
    if raw is not None and (refused := REFUSED.get((name.upper(), raw.strip()))) is not None:
        raise ConfigError(name, raw, refused)
    if name.upper() == "KEEP":
        return _keep_ms(name, raw or "")
    try:
        number = key.parse(raw if raw is not None else "")
    except ConfigError as error:
        if raw is not None and raw.strip().lstrip("+-").isdigit():
            raise
        reason = f"must be a whole number between {least} and {largest}"
        raise ConfigError(name, raw or "", reason) from error
    assert isinstance(number, int)
    return number


def _keep_ms(name: str, raw: str) -> int:
    """Return the longest of up to three times, in days unless they have a unit."""
    found = [_KEEP.fullmatch(part.strip()) for part in raw.split(",")]
    times = [int(part[1]) * _KEEP_UNITS_MS[part[2].lower()] for part in found if part is not None]
    if len(times) < len(found) or len(found) > 3 or not all(times):
        raise ConfigError(
            name, raw, "must be up to three times like 3650, 10d, 240h or 1440m; days unless named"
        )
    return max(times)
