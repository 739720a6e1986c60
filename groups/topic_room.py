"""The limit of groups that read a topic (`kawal.topic.max.groups`; TDengine allows 100).

A group counts in a topic while it has, or may come to have, a committed offset there, with or without
members: TDengine's subscriptions last as long, too.  The offsets are kept by topic, so that a check costs one
look-up for each topic, however many groups there are.

A group beyond the limit is refused when a member subscribes (GROUP_MAX_SIZE_REACHED, which every client takes
for a fatal error of its consumer), and, as groups may join before any of them commits, at its first commit in
the topic (POLICY_VIOLATION).  Subscriptions by regular expression are only refused at the commit, and offsets
of a transaction count once it is committed.
"""

from __future__ import annotations

from collections.abc import Iterable

from groups.classic_member import Protocols, topics_in
from groups.context import Context
from groups.errors import GroupFull
from protocol.errors import Malformed


def has_room(context: Context, group_id: str, topic: str) -> bool:
    """Whether the group may have offsets in the topic."""
    limit = context.config.kawal_topic_max_groups
    return not limit or context.offsets.may_read(group_id, topic, limit)


def check_topics(context: Context, group_id: str, topics: Iterable[str]) -> None:
    """Check that the group may read these topics.

    Raises: GroupFull.
    """
    if not context.config.kawal_topic_max_groups:
        return
    for topic in topics:
        if not has_room(context, group_id, topic):
            raise GroupFull(
                f"Topic {topic!r} is read by kawal.topic.max.groups={context.config.kawal_topic_max_groups}"
                " groups; delete one, or its offsets in the topic, or set more (0: no limit)."
            )


def check_protocols(context: Context, group_id: str, protocols: Protocols) -> None:
    """Check that the group may read the topics that a classic member subscribes to.

    What is not a consumer's subscription names no topics.  Raises: GroupFull.
    """
    if context.config.kawal_topic_max_groups:
        for _, metadata in protocols:
            try:
                topics = topics_in(metadata)
            except Malformed:
                continue
            check_topics(context, group_id, topics)
