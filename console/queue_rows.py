"""The rows of `kawal queues`: share groups by Kafka's own APIs, and what only Kawal knows besides."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from console.admin import ask, ask_private, check, describe_cluster
from console.errors import CommandError
from console.loading import when_loaded
from console.wire import NotKawal
from protocol.error_codes import ErrorCode
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from protocol.messages.find_coordinator import FindCoordinatorRequest
from protocol.messages.kawal_queues import KawalQueuesRequest, QueueGroup
from protocol.messages.list_groups import ListGroupsRequest
from protocol.messages.share_group_describe import ShareGroupDescribeRequest

Row = dict[str, Any]

AT_ONCE: Final = 100
"""The groups in one request."""

GROUP_TYPE: Final = "share"
MEMBER_UNKNOWN: Final = dict.fromkeys(("status", "window", "pending", "slots", "idle_seconds"))
PARTITION_UNKNOWN: Final = dict.fromkeys(
    (
        "end",
        "acquired",
        "available",
        "released",
        "acknowledged",
        "archived",
        "archiving",
        "deliveries",
        "oldest_seconds",
    )
)
"""The columns that Kafka's APIs do not have."""

VANISHED: Final = frozenset({ErrorCode.GROUP_ID_NOT_FOUND, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})
"""The errors of what was deleted between two requests."""


def list_queues(bootstrap: str) -> list[Row]:
    """Return all share groups with their members and partitions, by name.  Raises: CommandError."""
    found: list[Row] = []
    for address in _brokers(bootstrap):
        answer = _asked(address, ListGroupsRequest(types_filter=[GROUP_TYPE]), 5)
        check(answer.error_code, None, "groups")
        group_ids = sorted(group.group_id for group in answer.groups)
        found += _read(address, group_ids, may_vanish=True)
    return sorted(found, key=lambda row: str(row["group"]))


def read_queues(bootstrap: str, group_ids: Sequence[str]) -> list[Row]:
    """Return these share groups, in this order.  Raises: CommandError, also for one that does not exist."""
    rows: dict[str, Row] = {}
    for group_id in dict.fromkeys(group_ids):
        if group_id not in rows:
            address = coordinator_of(bootstrap, group_id)
            rows |= {row["group"]: row for row in _read(address, [group_id])}
    return [rows[group_id] for group_id in dict.fromkeys(group_ids)]


def _asked(address: str, request: Any, version: int) -> Any:
    """Return the answer of a coordinator, once it is loaded.  Raises: CommandError."""
    return when_loaded(lambda: ask(address, request, version))


def _brokers(bootstrap: str) -> list[str]:
    """Return the addresses of all brokers; a single one is asked where it was found."""
    brokers = describe_cluster(bootstrap).brokers
    if len(brokers) == 1:
        return [bootstrap]
    return [_address(broker.host, broker.port) for broker in brokers]


def coordinator_of(bootstrap: str, group_id: str) -> str:
    """Return the address of a group's coordinator.  Raises: CommandError."""
    if len(_brokers(bootstrap)) == 1:
        return bootstrap
    (found,) = _asked(bootstrap, FindCoordinatorRequest(coordinator_keys=[group_id]), 4).coordinators
    check(found.error_code, found.error_message, f"group {group_id!r}")
    return _address(found.host, found.port)


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _read(address: str, group_ids: list[str], *, may_vanish: bool = False) -> list[Row]:
    rows: list[Row] = []
    for start in range(0, len(group_ids), AT_ONCE):
        some = group_ids[start : start + AT_ONCE]
        described = _described(address, some, may_vanish=may_vanish)
        progress = _progress(address, list(described))
        more = _more(address, list(described))
        for group_id, row in described.items():
            row["partitions"] = progress[group_id]
            row["counters"] = None
            if group_id in more:
                _enrich(row, more[group_id])
            rows.append(row)
    return rows


# --- by Kafka's APIs ----------------------------------------------------------------------------------------


def _described(address: str, group_ids: list[str], *, may_vanish: bool) -> dict[str, Row]:
    request = ShareGroupDescribeRequest(group_ids=group_ids, include_authorized_operations=False)
    found: dict[str, Row] = {}
    for group in _asked(address, request, 1).groups:
        if group.error_code in VANISHED and may_vanish:
            continue
        if group.error_code:
            raise CommandError(
                f"share group {group.group_id!r}: {group.error_message or _refusal(group.error_code)} "
                "'kawal queues list' shows those that exist"
            )
        found[group.group_id] = {
            "group": group.group_id,
            "state": group.group_state,
            "assignor": group.assignor_name,
            "members": [_member(member) for member in group.members],
        }
    return found


def _refusal(code: int) -> str:
    from console.client import refusal

    return f"{refusal(code, None).rstrip('.')}."


def _member(member: Any) -> Row:
    return {
        "member": member.member_id,
        "client_id": member.client_id,
        "host": member.client_host.removeprefix("/"),
        "topics": sorted(member.subscribed_topic_names),
        "assigned": [
            f"{topic.topic_name}-{index}"
            for topic in member.assignment.topic_partitions
            for index in topic.partitions
        ],
        **MEMBER_UNKNOWN,
    }


def _progress(address: str, group_ids: list[str]) -> dict[str, list[Row]]:
    groups = [DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None) for group_id in group_ids]
    found: dict[str, list[Row]] = {group_id: [] for group_id in group_ids}
    for group in _asked(address, DescribeShareGroupOffsetsRequest(groups=groups), 1).groups:
        check(group.error_code, group.error_message, f"share group {group.group_id!r}")
        rows = [
            {
                "topic": topic.topic_name,
                "partition": partition.partition_index,
                "start": _known(partition.start_offset),
                "backlog": _known(partition.lag),
                **PARTITION_UNKNOWN,
                "error": _error(partition),
            }
            for topic in group.topics
            for partition in topic.partitions
        ]
        found[group.group_id] = sorted(rows, key=lambda row: (str(row["topic"]), row["partition"]))
    return found


def _error(partition: Any) -> str | None:
    """Return why nothing is known of a partition, if that is so."""
    if not partition.error_code:
        return None
    return partition.error_message or _refusal(partition.error_code)


def starts_of(bootstrap: str, group_id: str) -> dict[tuple[str, int], int | None]:
    """Return where a group is in its partitions; none for a group that does not exist.

    Raises: CommandError.
    """
    asked = DescribeShareGroupOffsetsRequestGroup(group_id=group_id, topics=None)
    request = DescribeShareGroupOffsetsRequest(groups=[asked])
    (group,) = _asked(coordinator_of(bootstrap, group_id), request, 1).groups
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        return {}
    check(group.error_code, group.error_message, f"share group {group_id!r}")
    return {
        (topic.topic_name, partition.partition_index): _known(partition.start_offset)
        for topic in group.topics
        for partition in topic.partitions
    }


def _known(number: int) -> int | None:
    return number if number >= 0 else None


# --- by Kawal's own API -------------------------------------------------------------------------------------


def _more(address: str, group_ids: list[str]) -> dict[str, QueueGroup]:
    if not group_ids:
        return {}
    try:
        request = KawalQueuesRequest(group_ids=group_ids)
        answer = when_loaded(lambda: ask_private(address, request))
    except NotKawal:
        return {}
    check(answer.error_code, answer.error_message, "queues")
    for group in answer.groups:
        if group.error_code not in VANISHED:
            check(group.error_code, group.error_message, f"share group {group.group_id!r}")
    return {group.group_id: group for group in answer.groups if not group.error_code}


def _enrich(row: Row, group: QueueGroup) -> None:
    row["counters"] = {counter.name: counter.value for counter in group.counters}
    members = {member["member"]: member for member in row["members"]}
    for info in group.members:
        if info.member_id not in members:
            gone: Row = {"member": info.member_id, "client_id": None, "host": None, **MEMBER_UNKNOWN}
            members[info.member_id] = gone | {"topics": [], "assigned": []}
            row["members"].append(members[info.member_id])
        members[info.member_id] |= {
            "status": info.status,
            "window": info.window,
            "pending": info.pending,
            "slots": info.slots,
            "idle_seconds": info.idle_ms / 1000 if info.idle_ms >= 0 else None,
        }
    rows = {(partition["topic"], partition["partition"]): partition for partition in row["partitions"]}
    for name, info in _partitions(group):
        if (name, info.partition_index) not in rows:
            continue
        if info.error_code:
            rows[name, info.partition_index]["error"] = _error(info)
        else:
            rows[name, info.partition_index] |= {
                "start": info.start_offset,
                "end": info.end_offset,
                "backlog": info.acquired + info.available,
                "acquired": info.acquired,
                "available": info.available,
                "released": info.released,
                "acknowledged": info.acknowledged,
                "archived": info.archived,
                "archiving": info.archiving,
                "deliveries": {item.delivery_count: item.records for item in info.deliveries},
                "oldest_seconds": info.oldest_ms / 1000 if info.oldest_ms >= 0 else None,
            }


def _partitions(group: QueueGroup) -> Iterator[tuple[str, Any]]:
    return ((topic.topic_name, partition) for topic in group.topics for partition in topic.partitions)


# --- whole groups -------------------------------------------------------------------------------------------


def summary_of(row: Row) -> Row:
    """Return the line of a group in the list: numbers of members, and of records in all partitions."""
    partitions = row["partitions"]
    return {
        "group": row["group"],
        "state": row["state"],
        "members": len([member for member in row["members"] if member["client_id"] is not None]),
        "topics": sorted({partition["topic"] for partition in partitions}),
        "under_way": _total(partition["acquired"] for partition in partitions),
        "oldest_seconds": max(
            (found for partition in partitions if (found := partition["oldest_seconds"]) is not None),
            default=None,
        ),
        "backlog": _total(partition["backlog"] for partition in partitions),
    }


def _total(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None
