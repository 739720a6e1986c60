"""Tests of groups/share/share_index.py."""

from __future__ import annotations

from uuid import UUID

from groups.share.share_index import ShareIndex
from groups.share.share_partition import SharePartition
from groups.share.state_records import ShareKey
from groups.share.table import Share

JOBS, MAILS = UUID(int=1), UUID(int=2)


def share(group_id: str, topic_id: UUID, index: int, *, home: int = 0, is_kept: bool = False) -> Share:
    key = ShareKey(group_id, topic_id, index)
    return Share(key, SharePartition(0, 0), home=home, epoch=0, created_ms=0, is_kept=is_kept)


def test_they_are_found_by_home_group_and_topic() -> None:
    index: ShareIndex[Share] = ShareIndex()
    first, second, third = share("g", JOBS, 0), share("g", MAILS, 1, home=1), share("h", JOBS, 0)
    for each in (first, second, third):
        index.add(each)
    assert index.of_partition(0) == [first, third]
    assert index.of_group("g") == [first.key, second.key]
    assert index.topic_count == 2
    assert list(index.of_topics_without({MAILS: None})) == [first, third]


def test_kept_ones_are_of_no_group() -> None:
    index: ShareIndex[Share] = ShareIndex()
    index.add(share("g", JOBS, 0, is_kept=True))
    assert (index.has_group("g"), len(index.of_partition(0)), index.topic_count) == (False, 1, 1)


def test_those_without_a_topic_may_be_removed_while_they_are_looked_at() -> None:
    index: ShareIndex[Share] = ShareIndex()
    for number in range(5):
        index.add(share("g", JOBS, number))
    for each in index.of_topics_without({}):
        index.remove(each)
    assert (index.topic_count, index.has_group("g"), index.of_partition(0)) == (0, False, [])
