"""Simple: the assignor of share groups, in which a partition may have several members.

In each topic every subscriber gets a partition, and every partition a member. If there are more members
than partitions, they share: each has one partition, and the partitions have equally many members, give or
take one. Else each partition has one member, and the members have equally many partitions, give or take one.
A member keeps the partitions that it had, as far as that allows.
Source: KIP-932; Kafka's SimpleAssignor.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from heapq import heapify, heappop, heappush
from uuid import UUID

from groups.subscriber import Subscriber, still_held, subscribers_of


def assign_shared(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> dict[str, dict[UUID, set[int]]]:
    """Give every member partitions of each of its topics; in time O(n log n) of members and partitions."""
    found: dict[str, dict[UUID, set[int]]] = {member.member_id: {} for member in members}
    for topic_id, subscribed in subscribers_of(members, counts):
        count = counts[topic_id]
        held = {member.member_id: still_held(member, topic_id, count) for member in subscribed}
        for member_id, indexes in _divide(held, count).items():
            if indexes:
                found[member_id][topic_id] = indexes
    return found


def _divide(held: Mapping[str, Sequence[int]], count: int) -> dict[str, set[int]]:
    """Divide the partitions of one topic among members; `held` is what each had."""
    if len(held) < count:
        members, partitions = _Quotas(len(held), count), _Quotas(count, count)
    else:
        members, partitions = _Quotas(len(held), len(held)), _Quotas(count, len(held))
    divided: dict[str, set[int]] = {member_id: set() for member_id in held}
    owners = dict.fromkeys(range(count), 0)
    given = dict.fromkeys(held, 0)
    for member_id, indexes in held.items():
        for index in indexes:
            if members.allows(given[member_id]) and partitions.allows(owners[index]):
                members.take(given[member_id])
                partitions.take(owners[index])
                given[member_id] += 1
                owners[index] += 1
                divided[member_id].add(index)
    _fill(divided, given, owners)
    return divided


def _fill(divided: dict[str, set[int]], given: dict[str, int], owners: dict[int, int]) -> None:
    """Bring the member with the fewest partitions and the partition with the fewest members together."""
    total = max(len(given), len(owners))
    by_member = [(number, member_id) for member_id, number in given.items()]
    by_partition = [(number, index) for index, number in owners.items()]
    heapify(by_member)
    heapify(by_partition)
    for _ in range(total - sum(given.values())):
        number, member_id = heappop(by_member)
        owner_count, index = heappop(by_partition)
        divided[member_id].add(index)
        heappush(by_member, (number + 1, member_id))
        heappush(by_partition, (owner_count + 1, index))


class _Quotas:
    """The numbers that a total is divided into: all alike, but for one more for some."""

    def __init__(self, parts: int, total: int) -> None:
        self._each, self._larger = divmod(total, parts)

    def allows(self, present: int) -> bool:
        """Whether a part may be one larger than it is."""
        return present < self._each or (present == self._each and self._larger > 0)

    def take(self, present: int) -> None:
        """Make a part one larger."""
        if present == self._each:
            self._larger -= 1
