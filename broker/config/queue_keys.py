"""The settings of share groups that Apache Kafka 4.3 does not have; a part of the table in group_keys.py.

Those whose names begin with `errors.` are Kafka 4.4's (KIP-1191), with its names, types and defaults.
"""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key, Value
from broker.config.topic_names import name_problem

BOOLEAN, STRING, INT, LONG = ConfigType.BOOLEAN, ConfigType.STRING, ConfigType.INT, ConfigType.LONG


def _dead_letter_topic_problem(value: Value) -> str | None:
    """Return what is wrong with the name of a dead-letter topic.

    Source: Kafka 4.4's GroupConfig; it accepts names that no topic can have.
    """
    if not value:
        return None
    if str(value).startswith("__"):
        return "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"
    return name_problem(str(value))


def _topic_problem(value: Value) -> str | None:
    """Return what is wrong with the name of a topic; an empty one is allowed."""
    return name_problem(str(value)) if value else None


def _filter_problem(value: Value) -> str | None:
    """Return what is wrong with a filter, and where."""
    if not value:
        return None
    from broker.config.header_filter import FilterError, parse_filter  # loaded when the first is set

    try:
        parse_filter(str(value))
    except FilterError as error:
        return f"{error} in the filter {str(value)!r}"
    return None


def _own(name: str, kind: ConfigType, default: Value, doc: str, *, choices: tuple[str, ...] = ()) -> Key:
    return Key(name, kind, default, doc, choices=choices, synonyms=(name,))


DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"
COPY_RECORD: Final = "errors.deadletterqueue.copy.record.enable"
COPY_HEADERS: Final = "kawal.share.deadletter.headers.enable"
DEAD_LETTER_POLICY: Final = "kawal.share.deadletter.policy"
MEMBER_RECORDS: Final = "kawal.share.member.max.records"
IN_FLIGHT_BYTES: Final = "kawal.share.partition.max.in.flight.bytes"
AUTO_ACCEPT: Final = "kawal.share.auto.accept"
FILTER: Final = "kawal.share.filter"
AVOID_LAST: Final = "kawal.share.avoid.last.member.ms"
STEAL_IDLE: Final = "kawal.share.steal.idle.ms"
REAR_ENABLE: Final = "kawal.share.rear.enable"
ANSWERS_TOPIC: Final = "kawal.share.answers.topic"
CLASSES: Final = "kawal.share.priority.classes"
TIMING: Final = "kawal.share.timing.enable"

QUEUE_KEYS: tuple[Key, ...] = (
    _own(
        COPY_RECORD,
        BOOLEAN,
        False,
        "Whether dead letters have key and value of the record, or only headers that name it.",
    ),
    Key(
        DEAD_LETTER_TOPIC,
        STRING,
        "",
        "The topic for records that a share group gives up; empty: none.",
        check=_dead_letter_topic_problem,
        synonyms=(DEAD_LETTER_TOPIC,),
    ),
    _own(
        COPY_HEADERS,
        BOOLEAN,
        True,
        "Whether dead letters with key and value also have the record's own headers.",
    ),
    _own(
        DEAD_LETTER_POLICY,
        STRING,
        "tail",
        "What becomes of records that are rejected or were delivered as often as the group allows: they go to"
        " the dead-letter topic, if the group has one (`tail`), or are archived (`drop`); `keep` archives"
        " rejected ones, and delivers the others again.",
        choices=("drop", "keep", "tail"),
    ),
    Key(
        MEMBER_RECORDS,
        INT,
        0,
        "Most records that a member of a share group has at a time, in all partitions; 0: no limit.",
        minimum=0,
        unit="records",
        synonyms=(MEMBER_RECORDS,),
    ),
    Key(
        IN_FLIGHT_BYTES,
        LONG,
        0,
        "Most bytes of a partition that members of a share group have at a time, counted by the mean size of"
        " a record in its batch; one record may exceed it.  0: no limit.",
        minimum=0,
        unit="bytes",
        synonyms=(IN_FLIGHT_BYTES,),
    ),
    _own(
        AUTO_ACCEPT,
        BOOLEAN,
        False,
        "Whether records of a share group count as accepted when they are delivered: each is delivered at"
        " most once, and acknowledgements are not needed.",
    ),
    Key(
        FILTER,
        STRING,
        "",
        "The records that a share group is given, by their headers, as in `type=order|refund,!test`; the"
        " others are archived for the group.  Empty: all.",
        check=_filter_problem,
        synonyms=(FILTER,),
    ),
    Key(
        AVOID_LAST,
        INT,
        0,
        "Time for which a record that a member of a share group has released, or let expire, is given to"
        " other members only.",
        minimum=0,
        unit="ms",
        synonyms=(AVOID_LAST,),
    ),
    Key(
        STEAL_IDLE,
        INT,
        0,
        "Time without a fetch, acknowledgement or renewal after which records of a member of a share group"
        " are taken over, when another member asks and nothing else is available; 0: only when their lock"
        " ends.",
        minimum=0,
        unit="ms",
        synonyms=(STEAL_IDLE,),
    ),
    _own(
        REAR_ENABLE,
        BOOLEAN,
        False,
        "Whether dead letters of a share group without errors.deadletterqueue.topic.name go to the tail queue"
        " of each topic, the topic of the same name with `.rear`, which is made with the first letter.",
    ),
    Key(
        ANSWERS_TOPIC,
        STRING,
        "",
        "The topic in which workers of a share group tell why they could not process a record, by headers;"
        " dead letters have code and reason of the last answer.  Empty: none.",
        check=_topic_problem,
        synonyms=(ANSWERS_TOPIC,),
    ),
    Key(
        CLASSES,
        INT,
        0,
        "Classes of records in a share group, by their header kawal-priority from 0, which is that of records"
        " without one, up to one less than this number: of what is available in a partition, larger ones are"
        " given out first.  0: no classes.",
        minimum=0,
        maximum=10,
        unit="classes",
        synonyms=(CLASSES,),
    ),
    _own(
        TIMING,
        BOOLEAN,
        False,
        "Whether a share group gets records only after their headers kawal-deliver-at or kawal-delay-ms say"
        " so, and before kawal-expires-at and the topic's kawal.share.ttl.ms.",
    ),
)
"""The keys, in the order of the documentation."""
