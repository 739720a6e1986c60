"""One topic: where its streams and partitions lie."""

from __future__ import annotations

import pytest

from broker.catalogue.catalogue_records import TopicCreated
from broker.catalogue.topic import Topic


def topic(*, one_vnode: bool = False) -> Topic:
    record = TopicCreated(
        name="t",
        topic_id="0" * 31 + "1",
        database="default",
        first_stream=10,
        partition_count=3,
        first_vnode=1,
        created_ms=0,
        vnode_count=2,
        one_vnode=one_vnode,
    )
    return Topic(record)


def test_partitions_lie_on_one_vnode_after_the_other_or_all_on_one() -> None:
    assert [topic().vnode_index(index) for index in range(3)] == [1, 0, 1]
    assert [topic(one_vnode=True).vnode_index(index) for index in range(3)] == [1, 1, 1]


def test_a_stream_tells_its_partition() -> None:
    found = topic()
    found.ranges.append((3, 50))
    found.planned_count = 5
    assert [found.partition_of(stream) for stream in found.stream_ids()] == [0, 1, 2, 3, 4]
    with pytest.raises(AssertionError, match="stream 9 is not of topic 't'"):
        found.partition_of(9)
