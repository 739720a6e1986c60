"""The names that a shell offers while the user types: of topics, and of consumer groups."""

from __future__ import annotations

from console import admin
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest, MetadataResponse

METADATA_VERSION, GROUPS_VERSION = 7, 2


def topics(bootstrap: str) -> list[str]:
    """Return the names of the topics, without the broker's own.  Raises: CommandError."""
    return sorted(topic.name or "" for topic in admin.all_topics(bootstrap) if not topic.is_internal)


def groups(bootstrap: str) -> list[str]:
    """Return the names of the groups of every broker.  Raises: CommandError."""
    found: set[str] = set()
    for broker in _metadata(bootstrap).brokers:
        host = f"[{broker.host}]" if ":" in broker.host else broker.host
        answer = admin.ask(f"{host}:{broker.port}", ListGroupsRequest(), GROUPS_VERSION)
        found.update(group.group_id for group in answer.groups)
    return sorted(found)


def _metadata(bootstrap: str) -> MetadataResponse:
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    answer: MetadataResponse = admin.ask(bootstrap, request, METADATA_VERSION)
    return answer
