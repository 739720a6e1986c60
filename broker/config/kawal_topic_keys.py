"""The topic configurations that Kafka 4.3 does not have: a topic's place, a view's definition, and more.

DescribeConfigs lists a key only where it has a value. Keys of `FIXED_NAMES` are settled when the topic is
created; those of `SHOWN_ONLY` follow from other facts and cannot be set at all.
"""

from __future__ import annotations

from typing import Final

from broker.config import message_keys
from broker.config.config_keys import ConfigType, Key, Value
from broker.config.split_keys import SPLIT_KEYS
from broker.config.table_keys import DECLARE_KEY
from broker.config.topic_names import name_problem
from broker.config.view_bounds import parse_bound, parse_speed

STRING: Final = ConfigType.STRING

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
"""The codecs of record batches, each at the place of its number."""


def _columns_problem(value: Value) -> str | None:
    """Return what is wrong with declared columns; the parser is loaded when the first are declared."""
    from views.columns import parse_columns
    from views.errors import ViewError

    try:
        parse_columns(str(value))
    except ViewError as error:
        return str(error)
    return None


def _topic_problem(value: Value) -> str | None:
    """Return what is wrong with the name of a topic; an empty one is allowed."""
    return name_problem(str(value)) if value else None


def _bound_problem(value: Value) -> str | None:
    """Return what is wrong with a bound."""
    try:
        parse_bound(str(value))
    except ValueError as error:
        return str(error)
    return None


def _speed_problem(value: Value) -> str | None:
    """Return what is wrong with a speed."""
    try:
        parse_speed(str(value))
    except ValueError as error:
        return str(error)
    return None


DATABASE_KEY: Final = Key(
    "kawal.database",
    STRING,
    "default",
    "The database whose vnodes hold the topic; fixed when the topic is created.",
)

DURABILITY_SHOWN: Final = Key(
    "kawal.durability",
    STRING,
    "disk",
    "What acks=all waits for: the durability class of the topic's database.",
)

SQL_KEY: Final = Key(
    "kawal.sql",
    STRING,
    "",
    "Makes the new topic a view, which stores nothing.  The value is what follows AS in CREATE TOPIC:"
    " `SELECT … FROM topic WHERE …`, `STABLE topic WHERE …` or `UNFIT topic`.",
)

COLUMNS_KEY: Final = Key(
    "kawal.columns",
    STRING,
    "",
    "Names and types of the members of the topic's values (JSON objects), for views that select by them:"
    " `ts timestamp, current double, location string tag`.",
    check=_columns_problem,
)

QUARANTINE_KEY: Final = Key(
    "kawal.quarantine",
    STRING,
    "",
    "The view that shows which of the topic's records do not fit kawal.columns, and why; setting it creates"
    " the view, like `CREATE TOPIC name AS UNFIT topic`.",
    check=_topic_problem,
)

ALIAS_KEY: Final = Key(
    "kawal.alias.of",
    STRING,
    "",
    "Makes the new topic a read-only alias of another; bounds and a speed set what it shows, and how fast.",
)

FROM_KEY: Final = Key(
    "kawal.from",
    STRING,
    "",
    "Where a view begins: a time (ISO 8601, or ms since 1970), or `offset 4711`.",
    check=_bound_problem,
)

TO_KEY: Final = Key(
    "kawal.to",
    STRING,
    "",
    "Where a view ends, in the forms of kawal.from; the end itself is not shown.",
    check=_bound_problem,
)

SPEED_KEY: Final = Key(
    "kawal.replay.speed",
    STRING,
    "",
    "Shows a view's records at the pace they were written: 1 is the original pace, 10 is ten times as fast.",
    check=_speed_problem,
)

SNAPSHOT_KEY: Final = Key(
    "kawal.snapshot",
    ConfigType.BOOLEAN,
    False,
    "Lets readers of a view that begin at its start get the last record of each key first.",
)

SCHEMA_SHOWN: Final = Key(
    "kawal.schema", STRING, "", "The columns of a view's records, as JSON; they never change."
)

SOURCE_SHOWN: Final = Key("kawal.source", STRING, "", "The topic or database that a view reads.")

PROTECTED_KEY: Final = Key(
    "kawal.deletion.protected",
    ConfigType.BOOLEAN,
    False,
    "Refuses, with POLICY_VIOLATION, to delete the topic or its records; retention and compaction go on.  Not"
    " set: as its database, else the server, says.",
    synonyms=("kawal.deletion.protected",),
)

DROP_POLICY_KEY: Final = Key(
    "kawal.drop.policy",
    STRING,
    "always",
    "Whether the topic can be deleted while members of a group subscribe to it: `always`, or `refuse` with"
    " POLICY_VIOLATION naming the groups.  Not set: as its database, else the server, says.",
    choices=("always", "refuse"),
    synonyms=("kawal.drop.policy",),
)

READ_ONLY_KEY: Final = Key(
    "kawal.read.only",
    ConfigType.BOOLEAN,
    False,
    "Refuses, with POLICY_VIOLATION, what is produced to the topic.",
)

CODECS_KEY: Final = Key(
    "kawal.codecs.allowed",
    ConfigType.LIST,
    CODECS,
    "Codecs in which batches may be produced; others are refused with UNSUPPORTED_COMPRESSION_TYPE.",
    choices=CODECS,
)

MAX_PARTITION_BYTES_KEY: Final = Key(
    "kawal.max.partition.bytes",
    ConfigType.LONG,
    -1,
    "Refuses, with POLICY_VIOLATION, what is produced to a partition that holds this much, until retention,"
    " compaction or a deletion makes room; batches on their way to the disk do not count; -1: no limit.",
    minimum=-1,
    unit="bytes",
)

WRITE_SPEED_KEY: Final = Key(
    "kawal.partition.write.bytes.per.sec",
    ConfigType.LONG,
    -1,
    "Speed at which each partition may be written to, after a second's worth at once; a producer that goes"
    " above is answered, told to wait, and not read until then, as with producer_byte_rate; -1: no limit.",
    minimum=-1,
    unit="bytes/s",
)

CHECK_RECORDS_KEY: Final = Key(
    "kawal.check.records",
    STRING,
    "head",
    "How far a produced batch is checked: by its head and CRC (`head`), or with all of its records as Apache"
    " Kafka does (`open`); what is wrong then answers INVALID_RECORD.",
    choices=("head", "open"),
)

DEDUP_KEY: Final = Key(
    "kawal.dedup",
    STRING,
    "none",
    "`seqno`: each record carries its producer's name and a number in the headers kawal-producer-id and"
    " kawal-seqno; one whose number is not above the last one of that producer in the topic is dropped.",
    choices=("none", "seqno"),
)

ROUTING_KEY: Final = Key(
    "kawal.routing",
    STRING,
    "any",
    "`producer-bind`: a producer of kawal.dedup=seqno stays on the partition that it wrote to first;"
    " elsewhere its records are refused with POLICY_VIOLATION.",
    choices=("any", "producer-bind"),
)

BINDING_TTL_KEY: Final = Key(
    "kawal.producer.binding.ttl.ms",
    ConfigType.LONG,
    14 * 24 * 3_600_000,
    "How long the last number of a producer of kawal.dedup=seqno is remembered after its last record.",
    minimum=1,
    unit="ms",
)

BINDING_MAX_KEY: Final = Key(
    "kawal.producer.binding.max",
    ConfigType.INT,
    100_000,
    "The most producers of kawal.dedup=seqno remembered for a partition, about 200 bytes of memory each;"
    " records of further ones are refused with POLICY_VIOLATION.",
    minimum=1,
    unit="producers",
)


def _session_headers_problem(value: Value) -> str | None:
    """Return what is wrong with the list of session headers."""
    from broker.config.session_headers import problem_of  # loaded when the first are given

    assert isinstance(value, tuple)
    return problem_of(value)


SESSION_HEADERS_KEY: Final = Key(
    "kawal.session.headers",
    ConfigType.LIST,
    (),
    "Headers that the topic gives every record of a producer, as client:ID:NAME=VALUE by its client.id or"
    " transaction:ID:NAME=VALUE by its transactional.id, in place of the record's own of that name.",
    check=_session_headers_problem,
)

SCHEMA_VALIDATION_KEY: Final = Key(
    "kawal.schema.validation",
    STRING,
    "none",
    "Refuses, with INVALID_RECORD and the place of each, values that do not fit `kawal.columns` (`columns`),"
    " or that are not framed with, and of, a schema of the registry at `kawal.schema.registry.url`"
    " (`registry`).  Null fits.",
    choices=("none", "columns", "registry"),
)

VALUE_FORMAT_KEY: Final = Key(
    "kawal.value.format",
    STRING,
    "json",
    "How views read the topic's values: as JSON (`json`), or as JSON, Avro or Protobuf framed with the id of"
    " a schema at `kawal.schema.registry.url` (`registry`).  A view keeps what it was when it was made.",
    choices=("json", "registry"),
)

DEAD_LETTERS_KEY: Final = Key(
    "errors.deadletterqueue.group.enable",
    ConfigType.BOOLEAN,
    False,
    "Whether share groups may write dead letters into the topic (KIP-1191, Kafka 4.4).",
)

SHARE_TTL_KEY: Final = Key(
    "kawal.share.ttl.ms",
    ConfigType.LONG,
    -1,
    "Age at which records of the topic expire for share groups with kawal.share.timing.enable; -1: never.",
    minimum=-1,
    unit="ms",
)


def _deleted_problem(value: Value) -> str | None:
    """Return what is wrong with the list of deleted records."""
    from broker.config.deleted_records import problem_of  # loaded when the first are deleted

    assert isinstance(value, tuple)
    return problem_of(value)


SHARE_DELETED_KEY: Final = Key(
    "kawal.share.deleted",
    ConfigType.LIST,
    (),
    "Records that no share group is given from now on, as PARTITION:OFFSET or PARTITION:FIRST-LAST; consumer"
    " groups still read them.",
    check=_deleted_problem,
)

QUEUE_LENGTH_KEY: Final = Key(
    "kawal.queue.max.records",
    ConfigType.LONG,
    -1,
    "Most records of the topic and of its tail queue, the topic of the same name with `.rear`, together;"
    " further ones are refused with POLICY_VIOLATION.  -1: no limit.",
    minimum=-1,
    unit="records",
)

KAWAL_TOPIC_KEYS: Final = {
    key.name: key
    for key in (
        DATABASE_KEY,
        DURABILITY_SHOWN,
        SQL_KEY,
        ALIAS_KEY,
        FROM_KEY,
        TO_KEY,
        SPEED_KEY,
        SNAPSHOT_KEY,
        COLUMNS_KEY,
        QUARANTINE_KEY,
        DECLARE_KEY,
        PROTECTED_KEY,
        DROP_POLICY_KEY,
        READ_ONLY_KEY,
        *message_keys.MESSAGE_KEYS,
        CODECS_KEY,
        MAX_PARTITION_BYTES_KEY,
        WRITE_SPEED_KEY,
        CHECK_RECORDS_KEY,
        DEDUP_KEY,
        ROUTING_KEY,
        BINDING_TTL_KEY,
        BINDING_MAX_KEY,
        SESSION_HEADERS_KEY,
        SCHEMA_VALIDATION_KEY,
        VALUE_FORMAT_KEY,
        DEAD_LETTERS_KEY,
        SHARE_TTL_KEY,
        SHARE_DELETED_KEY,
        QUEUE_LENGTH_KEY,
        *SPLIT_KEYS,
        SCHEMA_SHOWN,
        SOURCE_SHOWN,
    )
}
"""All these keys by name."""

SHOWN_ONLY: Final = frozenset({DURABILITY_SHOWN.name, SCHEMA_SHOWN.name, SOURCE_SHOWN.name})
"""Keys that are shown and never set."""

WINDOW_NAMES: Final = (FROM_KEY.name, TO_KEY.name, SPEED_KEY.name, SNAPSHOT_KEY.name)
"""Keys that bound or pace a view, or let it begin with its state."""

DEFINING_NAMES: Final = frozenset({SQL_KEY.name, ALIAS_KEY.name, *WINDOW_NAMES})
"""Keys that are set for views only."""

FIXED_NAMES: Final = DEFINING_NAMES | SHOWN_ONLY | {DATABASE_KEY.name, *message_keys.IDENTITY_NAMES}
"""Keys that are settled when the topic is created."""
