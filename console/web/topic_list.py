"""A cluster's brokers and topics, by one request each, however many there are."""

from __future__ import annotations

from typing import NamedTuple

from console.admin import ask, check
from console.errors import CommandError
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.metadata import MetadataRequest, MetadataResponse

METADATA_VERSION, GROUPS_VERSION = 12, 4


class TopicRow(NamedTuple):
    """A topic of the list."""

    name: str
    partitions: int
    internal: bool
    problem: bool
    """Whether a partition has no leader, or the topic an error."""


class Cluster(NamedTuple):
    """The brokers and topics there are."""

    brokers: list[str]
    """Addresses, as clients are told them."""
    controller: int
    topics: list[TopicRow]
    groups: int | None
    """None: the broker does not tell."""


def topics_of(bootstrap: str) -> tuple[MetadataResponse, list[TopicRow]]:
    """Return all topics by their name, with the answer that they are from.  Raises: CommandError."""
    request = MetadataRequest(topics=None, allow_auto_topic_creation=False)
    answer: MetadataResponse = ask(bootstrap, request, METADATA_VERSION)
    rows = [
        TopicRow(
            topic.name or "",
            len(topic.partitions),
            topic.is_internal,
            bool(topic.error_code) or any(partition.leader_id < 0 for partition in topic.partitions),
        )
        for topic in answer.topics
    ]
    return answer, sorted(rows)


def cluster_of(bootstrap: str) -> Cluster:
    """Return what the overview shows.  Raises: CommandError."""
    answer, topics = topics_of(bootstrap)
    brokers = [
        f"{f'[{broker.host}]' if ':' in broker.host else broker.host}:{broker.port}"
        for broker in answer.brokers
    ]
    # The address of the only broker is the one by which it is known to be reached.
    asked = brokers if len(brokers) > 1 else [bootstrap]
    return Cluster(brokers, answer.controller_id, topics, _groups(asked))


def _groups(brokers: list[str]) -> int | None:
    try:
        found = [ask(address, ListGroupsRequest(), GROUPS_VERSION) for address in brokers]
        for answer in found:
            check(answer.error_code, None, "listing the groups")
    except CommandError:
        return None  # a user who may not list groups still sees topics
    return sum(len(answer.groups) for answer in found)
