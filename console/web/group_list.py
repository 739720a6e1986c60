"""All groups of a cluster, and how far those of one page are behind."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from console.admin import addresses, ask, check
from console.wire import NotKawal
from console.wire import ask as ask_server
from protocol.messages.kawal_groups import KawalGroupsRequest, SubscriptionInfo
from protocol.messages.list_groups import ListGroupsRequest

TYPES_VERSION, STATES_VERSION = 5, 4
"""Versions of ListGroups: with types, and of brokers that know none (Kafka 2.8 to 3.7)."""


class GroupName(NamedTuple):
    """A group as the broker lists it; type and state are "" where it does not tell."""

    group: str
    type: str
    state: str


class GroupRow(NamedTuple):
    """A group of the list; None where only Kawal could tell, or there is nothing to tell."""

    group: str
    type: str
    state: str
    members: int | None
    lag: int | None
    lag_seconds: float | None


def groups_of(bootstrap: str) -> list[GroupName]:
    """Return the groups of all brokers by their name.  Raises: CommandError."""
    return sorted(name for address in addresses(bootstrap) for name in _groups_at(address))


def _groups_at(address: str) -> Iterator[GroupName]:
    """Yield the groups that a broker coordinates."""
    try:
        answer = ask_server(address, ListGroupsRequest(), TYPES_VERSION)
    except NotKawal:
        answer = ask(address, ListGroupsRequest(), STATES_VERSION)
    check(answer.error_code, None, "listing the groups")
    for group in answer.groups:
        yield GroupName(group.group_id, group.group_type.lower(), group.group_state)


def progress_of(bootstrap: str, groups: Sequence[GroupName]) -> tuple[list[GroupRow], bool]:
    """Return these groups with members and lag, by one request, and whether the broker told.

    Raises: CommandError.
    """
    members: defaultdict[str, int] = defaultdict(int)
    places: defaultdict[str, list[SubscriptionInfo]] = defaultdict(list)
    try:
        answer = ask_server(bootstrap, KawalGroupsRequest(group_ids=[group.group for group in groups]))
    except NotKawal:
        return [GroupRow(*group, None, None, None) for group in groups], False
    check(answer.error_code, answer.error_message, "asking for the progress of groups")
    for consumer in answer.consumers:
        members[consumer.group_id] += 1
    for place in answer.subscriptions:
        places[place.group_id].append(place)
    return [_row(group, members[group.group], places[group.group]) for group in groups], True


def _row(group: GroupName, members: int, places: Sequence[SubscriptionInfo]) -> GroupRow:
    if group.type == "share":
        return GroupRow(*group, None, None, None)  # queues have members and lag of another kind
    known = [place.lag_ms for place in places if place.lag_ms >= 0]
    lag = sum(place.lag for place in places) if places else None
    return GroupRow(*group, members, lag, max(known) / 1000 if known else None)
