"""The views that are made of a topic, and the groups that read it."""

from __future__ import annotations

from typing import NamedTuple

from console.admin import ask_private, check
from console.wire import NotKawal
from protocol.messages.kawal_groups import KawalGroupsRequest
from protocol.messages.kawal_topics import KawalTopicsRequest, TopicAction


class Dependents(NamedTuple):
    """Names; None where the broker does not tell."""

    views: list[str] | None
    groups: list[str] | None


def count_views(bootstrap: str) -> int | None:
    """Return how many views there are; None where the broker does not tell.  Raises: CommandError."""
    try:
        topics = ask_private(bootstrap, KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=None))
    except NotKawal:
        return None
    return sum(bool(topic.source) for topic in topics.topics)


def dependents_of(bootstrap: str, topic: str) -> Dependents:
    """Return what depends on a topic.  Raises: CommandError."""
    try:
        topics = ask_private(bootstrap, KawalTopicsRequest(action=TopicAction.DESCRIBE, topics=None))
        groups = ask_private(bootstrap, KawalGroupsRequest(group_ids=None))
    except NotKawal:
        return Dependents(None, None)
    check(groups.error_code, groups.error_message, "asking for the groups")
    return Dependents(
        sorted(view.name for view in topics.topics if view.source == topic and view.name != topic),
        sorted({place.group_id for place in groups.subscriptions if place.topic == topic}),
    )
