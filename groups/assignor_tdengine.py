"""TDengine's rule: each topic is divided evenly, on its own.

With V partitions (vnodes) and C members, each member gets V div C, and V mod C members get one more. Members
keep what they have up to that share, so a partition moves only if its owner has too many or has left. With
more members than partitions, some get nothing and stand by.
    4 partitions: 2 members 2+2, 3 members 2+1+1, 5 members 1+1+1+1+0

TDengine leaves it to chance which members get one more. Here those that already have it keep it; then come
those with the fewest partitions of the other topics.
Source: TDengine, mndSubscribe.c (mndDoRebalance); docs "Data Subscription Engine".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from uuid import UUID

from groups.subscriber import Subscriber, still_held, subscribers_of


def assign_evenly(
    members: Sequence[Subscriber], counts: Mapping[UUID, int]
) -> dict[str, dict[UUID, set[int]]]:
    """Divide every topic by TDengine's rule."""
    found: dict[str, dict[UUID, set[int]]] = {member.member_id: {} for member in members}
    load: Counter[str] = Counter()
    for topic_id, subscribed in subscribers_of(members, counts):
        divided = _divide(topic_id, subscribed, counts[topic_id], load)
        for member_id, partitions in divided.items():
            found[member_id][topic_id] = partitions
            load[member_id] += len(partitions)
    return found


def _divide(
    topic_id: UUID, subscribed: Sequence[Subscriber], count: int, load: Counter[str]
) -> dict[str, set[int]]:
    least, one_more = divmod(count, len(subscribed))
    free = set(range(count))
    shares: dict[str, set[int]] = {}
    # Members with the most come first: they may keep one more.
    held = {member.member_id: still_held(member, topic_id, count) for member in subscribed}
    for member_id in sorted(held, key=lambda name: (-len(held[name]), load[name], name)):
        mine = [index for index in held[member_id] if index in free][: least + (one_more > 0)]
        if len(mine) > least:
            one_more -= 1
        shares[member_id] = set(mine)
        free.difference_update(mine)
    pool = sorted(free, reverse=True)
    waiting = sorted(shares, key=lambda name: (load[name], name))
    for member_id in waiting:
        while len(shares[member_id]) < least:
            shares[member_id].add(pool.pop())
    for member_id in waiting:
        if pool and len(shares[member_id]) == least:
            shares[member_id].add(pool.pop())
    assert not pool, f"{len(pool)} partitions of topic {topic_id} are left over"
    return shares
