"""The settings of share groups that Apache Kafka 4.3 does not have; a part of the table in group_keys.py.

Those whose names begin with `errors.` are Kafka 4.4's (KIP-1191), with its names, types and defaults.
"""

from __future__ import annotations

from typing import Final

from broker.config.config_keys import ConfigType, Key, Value
from broker.config.topic_names import name_problem

BOOLEAN, STRING = ConfigType.BOOLEAN, ConfigType.STRING


def _dead_letter_topic_problem(value: Value) -> str | None:
    """Return what is wrong with the name of a dead-letter topic.

    Source: Kafka 4.4's GroupConfig; it accepts names that no topic can have.
    """
    if not value:
        return None
    if str(value).startswith("__"):
        return "errors.deadletterqueue.topic.name: DLQ topic name must not start with '__'"
    return name_problem(str(value))


def _own(name: str, kind: ConfigType, default: Value, doc: str, *, choices: tuple[str, ...] = ()) -> Key:
    return Key(name, kind, default, doc, choices=choices, synonyms=(name,))


DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"
COPY_RECORD: Final = "errors.deadletterqueue.copy.record.enable"
COPY_HEADERS: Final = "kawal.share.deadletter.headers.enable"
DEAD_LETTER_POLICY: Final = "kawal.share.deadletter.policy"

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
)
"""The keys, in the order of the documentation."""
