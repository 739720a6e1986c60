"""The table of the group configurations of Apache Kafka 4.3, and of ours, which begin with `kawal.`.

Types, defaults and ranges are those that a running Kafka 4.3.1 shows and enforces.  A group without a value
of its own takes that of the server key in `synonyms`; its values stay within the server's bounds (`BOUNDS`).
Groups need not exist to be configured; the coordinator reads a group's settings once it does.
"""

from __future__ import annotations

import re

from broker.config.config_keys import ConfigType, Key, Value
from broker.config.queue_keys import QUEUE_KEYS

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG
LIST = ConfigType.LIST

IMPORTANT_TOPICS = "kawal.retention.important.topics"

_DURATION = re.compile(
    r"by_duration:P(?=\d|T\d)(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+(\.\d{1,9})?S)?)?\Z", re.IGNORECASE
)
"""A duration in ISO 8601 as Java reads it, without signs."""


def _offset_reset_problem(value: Value) -> str | None:
    """Return what is wrong with a strategy for resetting offsets.  Source: KIP-1106."""
    assert isinstance(value, str)
    if value in ("earliest", "latest") or (value.startswith("by_duration:") and _DURATION.match(value)):
        return None
    return (
        f"Invalid value `{value}` for configuration share.auto.offset.reset. The value must be either"
        " 'earliest', 'latest' or of the format 'by_duration:<PnDTnHnMn.nS>'."
    )


def _server(name: str, kind: ConfigType, default: Value, doc: str, minimum: int, unit: str = "") -> Key:
    """Return a key that falls back to the server's `group.<name>`."""
    return Key(name, kind, default, doc, minimum=minimum, unit=unit, synonyms=(f"group.{name}",))


_STREAMS = "Kept and shown; there are no streams groups yet."

# fmt: off
_TABLE: tuple[Key, ...] = (
    _server("consumer.assignment.interval.ms", INT, 1000,
            "Shortest time between two assignments of a consumer group.", 0, "ms"),
    _server("consumer.heartbeat.interval.ms", INT, 5000,
            "How often members of a consumer group are told to send heartbeats.", 1, "ms"),
    _server("consumer.session.timeout.ms", INT, 45_000,
            "Time without a heartbeat after which a member of a consumer group is removed.", 1, "ms"),
    _server("share.assignment.interval.ms", INT, 1000,
            "Shortest time between two assignments of a share group.", 0, "ms"),
    Key("share.auto.offset.reset", STRING, "latest",
        "Where a share group begins in a partition: `latest`, `earliest`, or "
        "`by_duration:` and an age, as in `by_duration:PT1H`.", check=_offset_reset_problem,
        synonyms=("share.auto.offset.reset",)),
    _server("share.delivery.count.limit", INT, 5,
            "How often a record is delivered before it is given up.", 2, "deliveries"),
    _server("share.heartbeat.interval.ms", INT, 5000,
            "How often members of a share group are told to send heartbeats.", 1, "ms"),
    Key("share.isolation.level", STRING, "read_uncommitted",
        "Whether a share group is given records of open and aborted transactions.",
        choices=("read_committed", "read_uncommitted"), synonyms=("share.isolation.level",)),
    _server("share.partition.max.record.locks", INT, 2000,
            "Most records of a partition between the first that is not finished and the last delivered.",
            100, "records"),
    _server("share.record.lock.duration.ms", INT, 30_000,
            "Time that a member has for a record before others may get it.", 1000, "ms"),
    Key("share.renew.acknowledge.enable", BOOLEAN, True, "Whether members may renew their locks.",
        synonyms=("share.renew.acknowledge.enable",)),
    _server("share.session.timeout.ms", INT, 45_000,
            "Time without a heartbeat after which a member of a share group is removed.", 1, "ms"),
    _server("streams.assignment.interval.ms", INT, 1000, _STREAMS, 0, "ms"),
    _server("streams.heartbeat.interval.ms", INT, 5000, _STREAMS, 1, "ms"),
    _server("streams.initial.rebalance.delay.ms", INT, 3000, _STREAMS, 0, "ms"),
    _server("streams.num.standby.replicas", INT, 0, _STREAMS, 0, "replicas"),
    _server("streams.session.timeout.ms", INT, 45_000, _STREAMS, 1, "ms"),
    Key("kawal.group.assignor", STRING, "client",
        "The side that assigns partitions in a classic group that rebalances eagerly: its leader (`client`), "
        "as in Kafka, or the server by TDengine's rule.",
        choices=("client", "server"), synonyms=("kawal.group.assignor",)),
    Key("kawal.max.poll.interval.ms", INT, 0,
        "Time without a poll, as far as the server sees it (a join, a commit, or a fetch from its own "
        "partitions), after which it removes a member; 0: never, as in Kafka, where clients watch it.",
        minimum=0, unit="ms", synonyms=("kawal.max.poll.interval.ms",)),
    Key("kawal.consume.excluded", BOOLEAN, False,
        "Leave out records with the header kawal.origin, which `kawal databases restore` adds, so that two "
        "databases that are restored from each other do not pass records round in circles.",
        synonyms=("kawal.consume.excluded",)),
    Key("kawal.min.poll.rows", INT, 0,
        "Records that the group's fetches wait for, as long as their fetch.max.wait.ms, unless an answer is "
        "full before; 0: only fetch.min.bytes counts.",
        minimum=0, unit="records", synonyms=("kawal.min.poll.rows",)),
    Key("kawal.enable.batch.meta", BOOLEAN, False,
        "Put changes of topics that follow each other in a view WITH META into one batch.",
        synonyms=("kawal.enable.batch.meta",)),
    Key("kawal.snapshot.enable", BOOLEAN, False,
        "Show a group that begins at the start of a partition, without progress, only the last record of "
        "each key there, as of that moment, and every record after that.",
        synonyms=("kawal.snapshot.enable",)),
    Key("kawal.rebalance.interval.ms", INT, 2000,
        "How long changes of membership are gathered before the server assigns anew; 0: not at all. "
        "Takes precedence over consumer.assignment.interval.ms.",
        minimum=0, unit="ms", synonyms=("kawal.rebalance.interval.ms",)),
    Key("kawal.retention.important", BOOLEAN, False,
        "Keep records that the group has not committed, whatever retention says.",
        synonyms=("kawal.retention.important",)),
    Key(IMPORTANT_TOPICS, LIST, (),
        "Topics in which records are kept for the group even while it has neither subscribed members nor "
        "offsets in them, as before its first start.",
        synonyms=(IMPORTANT_TOPICS,)),
    Key("kawal.retention.important.max.bytes", LONG, -1,
        "Largest size of a partition that is kept for an important group; -1: no limit.",
        minimum=-1, unit="bytes", synonyms=("kawal.retention.important.max.bytes",)),
    Key("kawal.retention.availability.ms", LONG, 0,
        "Keep records that the group has not committed until they are this old; 0: as long as retention "
        "says.  Not together with kawal.retention.important.", minimum=0, unit="ms",
        synonyms=("kawal.retention.availability.ms",)),
)
# fmt: on

GROUP_KEYS: dict[str, Key] = {key.name: key for key in (*_TABLE, *QUEUE_KEYS)}
"""Every group configuration by name."""

BOUNDS: dict[str, tuple[str, str]] = {
    "consumer.assignment.interval.ms": (
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    "consumer.heartbeat.interval.ms": (
        "group.consumer.min.heartbeat.interval.ms",
        "group.consumer.max.heartbeat.interval.ms",
    ),
    "consumer.session.timeout.ms": (
        "group.consumer.min.session.timeout.ms",
        "group.consumer.max.session.timeout.ms",
    ),
    "kawal.rebalance.interval.ms": (
        "group.consumer.min.assignment.interval.ms",
        "group.consumer.max.assignment.interval.ms",
    ),
    "share.assignment.interval.ms": (
        "group.share.min.assignment.interval.ms",
        "group.share.max.assignment.interval.ms",
    ),
    "share.delivery.count.limit": (
        "group.share.min.delivery.count.limit",
        "group.share.max.delivery.count.limit",
    ),
    "share.heartbeat.interval.ms": (
        "group.share.min.heartbeat.interval.ms",
        "group.share.max.heartbeat.interval.ms",
    ),
    "share.partition.max.record.locks": (
        "group.share.min.partition.max.record.locks",
        "group.share.max.partition.max.record.locks",
    ),
    "share.record.lock.duration.ms": (
        "group.share.min.record.lock.duration.ms",
        "group.share.max.record.lock.duration.ms",
    ),
    "share.session.timeout.ms": (
        "group.share.min.session.timeout.ms",
        "group.share.max.session.timeout.ms",
    ),
    "streams.assignment.interval.ms": (
        "group.streams.min.assignment.interval.ms",
        "group.streams.max.assignment.interval.ms",
    ),
    "streams.heartbeat.interval.ms": (
        "group.streams.min.heartbeat.interval.ms",
        "group.streams.max.heartbeat.interval.ms",
    ),
    "streams.num.standby.replicas": ("", "group.streams.max.standby.replicas"),
    "streams.session.timeout.ms": (
        "group.streams.min.session.timeout.ms",
        "group.streams.max.session.timeout.ms",
    ),
}
"""For keys that the server bounds: the server keys with the least and the largest value, "" for none."""
