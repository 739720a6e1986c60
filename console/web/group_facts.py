"""A group as its page shows it: members, and how far it is in each partition."""

from __future__ import annotations

from typing import Any, NamedTuple

from console.admin import ask, check
from console.partition_offsets import Place, extents_of, leaders_of
from console.web.errors import PageError
from console.web.group_list import GroupName, groups_of
from console.wire import NotKawal
from console.wire import ask as ask_server
from protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.kawal_groups import ConsumerInfo, KawalGroupsRequest, SubscriptionInfo
from protocol.messages.offset_fetch import OffsetFetchRequest

COORDINATOR_VERSION, CLASSIC_VERSION, CONSUMER_VERSION, COMMITTED_VERSION = 3, 4, 0, 7


class MemberRow(NamedTuple):
    """A member; fields are None where only Kawal could tell."""

    member: str
    client_id: str
    host: str
    user: str | None
    status: str
    topics: list[str] | None
    joined_ms: int | None
    idle_seconds: float | None


class PlaceRow(NamedTuple):
    """A partition for the group; an offset of None: nothing is committed."""

    topic: str
    partition: int
    member: str | None
    offset: int | None
    end: int
    lag: int
    lag_seconds: float | None


class GroupFacts(NamedTuple):
    """A group."""

    name: GroupName
    members: list[MemberRow]
    places: list[PlaceRow]
    told: bool
    """Whether it is Kawal's answer, with seconds and all that members do."""


def find_group(bootstrap: str, group: str) -> GroupName:
    """Return what the list of groups says of one.  Raises: PageError when it is not there; CommandError."""
    found = next((name for name in groups_of(bootstrap) if name.group == group), None)
    if found is None:
        raise PageError(404, f"there is no group {group!r}")
    return found


def group_facts(bootstrap: str, group: str) -> GroupFacts:
    """Return what there is to know of a group.  Raises: PageError when there is none; CommandError."""
    name = find_group(bootstrap, group)
    try:
        answer = ask_server(bootstrap, KawalGroupsRequest(group_ids=[group]))
    except NotKawal:
        return _of_any_broker(bootstrap, name)
    check(answer.error_code, answer.error_message, f"group {group!r}")
    places = sorted(map(_place, answer.subscriptions), key=lambda row: (row.topic, row.partition))
    return GroupFacts(name, [_member(info) for info in answer.consumers], places, True)


def coordinator_of(bootstrap: str, group: str) -> str:
    """Return the address of the broker that a group belongs to.  Raises: CommandError."""
    found = ask(bootstrap, FindCoordinatorRequest(key=group), COORDINATOR_VERSION)
    check(found.error_code, found.error_message, f"the coordinator of group {group!r}")
    return f"{f'[{found.host}]' if ':' in found.host else found.host}:{found.port}"


def committed_of(bootstrap: str, group: str) -> dict[Place, int]:
    """Return the offsets that a group has committed.  Raises: CommandError."""
    request = OffsetFetchRequest(group_id=group, topics=None)
    answer = ask(coordinator_of(bootstrap, group), request, COMMITTED_VERSION)
    check(answer.error_code, None, f"the offsets of group {group!r}")
    return {
        (topic.name, partition.partition_index): partition.committed_offset
        for topic in answer.topics
        for partition in topic.partitions
        if partition.committed_offset >= 0 and not partition.error_code
    }


def _member(info: ConsumerInfo) -> MemberRow:
    return MemberRow(
        info.consumer_id,
        info.client_id,
        info.host.removeprefix("/"),
        info.user,
        info.status,
        list(info.topics),
        info.up_ms or None,
        info.idle_ms / 1000,
    )


def _place(info: SubscriptionInfo) -> PlaceRow:
    return PlaceRow(
        info.topic,
        info.partition,
        info.consumer_id,
        info.offset if info.offset >= 0 else None,
        info.end_offset,
        info.lag,
        info.lag_ms / 1000 if info.lag_ms >= 0 else None,
    )


# --- other brokers ---------------------------------------------------------------------------------------


def _of_any_broker(bootstrap: str, name: GroupName) -> GroupFacts:
    if name.type == "share":
        return GroupFacts(name, [], [], False)
    members, owners = _described(bootstrap, name)
    committed = committed_of(bootstrap, name.group)
    leaders = leaders_of(bootstrap, {topic for topic, _ in {*committed, *owners}})
    places = sorted({*committed, *owners} & leaders.keys())
    extents = extents_of(leaders, places)
    rows = []
    for place in places:
        offset, extent = committed.get(place), extents[place]
        at = extent.start if offset is None else min(max(offset, extent.start), extent.end)
        rows.append(PlaceRow(*place, owners.get(place), offset, extent.end, extent.end - at, None))
    return GroupFacts(name, members, rows, False)


def _described(bootstrap: str, name: GroupName) -> tuple[list[MemberRow], dict[Place, str]]:
    """Return the members and, of the consumer protocol, who has which partition."""
    address = coordinator_of(bootstrap, name.group)
    if name.type == "consumer":
        request: Any = ConsumerGroupDescribeRequest(
            group_ids=[name.group], include_authorized_operations=False
        )
        (found,) = ask(address, request, CONSUMER_VERSION).groups
        check(found.error_code, found.error_message, f"group {name.group!r}")
    else:
        (found,) = ask(address, DescribeGroupsRequest(groups=[name.group]), CLASSIC_VERSION).groups
        check(found.error_code, None, f"group {name.group!r}")
    owners = {
        (part.topic_name, index): member.member_id
        for member in found.members
        if name.type == "consumer"
        for part in member.assignment.topic_partitions
        for index in part.partitions
    }
    return [_kafka_member(member, found.group_state) for member in found.members], owners


def _kafka_member(member: Any, state: str) -> MemberRow:
    topics = getattr(member, "subscribed_topic_names", None)
    return MemberRow(
        member.member_id,
        member.client_id,
        member.client_host.removeprefix("/"),
        None,
        state,
        None if topics is None else list(topics),
        None,
        None,
    )
