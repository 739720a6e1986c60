"""Statements about consumers and their groups, as TDengine has them.

SHOW CONSUMERS      SHOW SUBSCRIPTIONS      SHOW GROUPS
DROP CONSUMER GROUP [IF EXISTS] group ON topic        its progress in the topic
DROP CONSUMER GROUP [IF EXISTS] group                 all of it
"""

from __future__ import annotations

from typing import Final

from console.client import refusal
from console.errors import CommandError, UsageError
from console.sql.grammar import Form, Parts, form, name, plain_name
from console.sql.results import Result
from console.sql.session import Session
from console.sql.system_tables import CONSUMERS, GROUPS, SUBSCRIPTIONS, rows_of
from protocol.messages.delete_groups import DeleteGroupsRequest
from protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)

GROUP_ID_NOT_FOUND: Final = 69
SUBSCRIBED: Final = 86
"""Kafka's GROUP_SUBSCRIBED_TO_TOPIC."""


def _consumers(session: Session, _: Parts) -> Result:
    return rows_of(CONSUMERS, session)


def _subscriptions(session: Session, _: Parts) -> Result:
    return rows_of(SUBSCRIPTIONS, session)


def _groups(session: Session, _: Parts) -> Result:
    return rows_of(GROUPS, session)


def _drop(session: Session, parts: Parts) -> Result:
    group = plain_name(parts["name"])
    if parts["force"]:
        raise UsageError(
            "DROP CONSUMER GROUP takes no FORCE: members would join again at once; stop them, or drop the"
            " topic with DROP TOPIC FORCE"
        )
    if parts["topic"] is None:
        return _drop_whole(session, group, lenient=bool(parts["lenient"]))
    topic = plain_name(parts["topic"])
    found = session.find_topic(topic)
    if found is None:
        if parts["lenient"]:
            return Result(f"{topic} does not exist")
        raise CommandError(f"there is no topic {topic!r}")
    partitions = [OffsetDeleteRequestPartition(partition_index=index) for index in range(found.partitions)]
    asked = OffsetDeleteRequestTopic(name=found.name, partitions=partitions)
    answer = session.ask(OffsetDeleteRequest(group_id=group, topics=[asked]))
    if answer.error_code == GROUP_ID_NOT_FOUND and parts["lenient"]:
        return Result(f"{group} does not exist")
    if answer.error_code:
        raise CommandError(f"group {group!r}: {refusal(answer.error_code, None)}")
    _check(group, found.name, {part.error_code for part in answer.topics[0].partitions})
    return Result(f"dropped {group} on {found.name}")


def _check(group: str, topic: str, codes: set[int]) -> None:
    if SUBSCRIBED in codes:
        raise CommandError(
            f"group {group!r} has members that subscribe to {topic!r}; stop them first (SHOW CONSUMERS names"
            " them)"
        )
    for code in sorted(codes - {0}):
        raise CommandError(f"group {group!r} on {topic!r}: {refusal(code, None)}")


def _drop_whole(session: Session, group: str, *, lenient: bool) -> Result:
    answer = session.ask(DeleteGroupsRequest(groups_names=[group]), 2).results[0]
    if answer.error_code == GROUP_ID_NOT_FOUND and lenient:
        return Result(f"{group} does not exist")
    if answer.error_code:
        raise CommandError(f"group {group!r}: {refusal(answer.error_code, None)}")
    return Result(f"dropped {group}")


_DROP: Final = (
    rf"DROP CONSUMER GROUP (?P<lenient>IF EXISTS )?(?P<force>FORCE )?{name()}(?: ON {name('topic')})?"
)

FORMS: Final[tuple[Form, ...]] = (
    form("SHOW CONSUMERS", "SHOW CONSUMERS", _consumers, "SHOW CONSUMERS"),
    form("SHOW SUBSCRIPTIONS", "SHOW SUBSCRIPTIONS", _subscriptions, "SHOW SUBSCRIPTIONS"),
    form("SHOW GROUPS", "SHOW (?:CONSUMER )?GROUPS", _groups, "SHOW GROUPS"),
    form("DROP CONSUMER GROUP", _DROP, _drop, "DROP CONSUMER GROUP IF EXISTS billing ON orders"),
)
