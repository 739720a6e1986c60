"""Fetch sessions follow KIP-227: requests open, continue, change and end them, or are refused."""

from random import Random
from typing import Any
from uuid import UUID

import pytest

from broker.errors import RequestError
from broker.fetching.fetch_session_cache import EVICTION_AGE_MS
from broker.fetching.fetch_sessions import FetchPlan, FetchSessions
from broker.loop.slices import at_once
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic
from tests.broker.fetching.fetches import Origin

TOPIC_ID = UUID(int=7)


OWNER = Origin()


def request(
    *,
    session_id: int = 0,
    epoch: int = 0,
    partitions: dict[int, int] | None = None,
    forget: tuple[int, ...] = (),
) -> FetchRequest:
    asked = {0: 0} if partitions is None else partitions
    topics = [
        FetchTopic(
            topic="t",
            topic_id=TOPIC_ID,
            partitions=[
                FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=1000)
                for index, offset in asked.items()
            ],
        )
    ]
    return FetchRequest(
        max_wait_ms=0,
        min_bytes=0,
        session_id=session_id,
        session_epoch=epoch,
        topics=topics if asked else [],
        forgotten_topics_data=[ForgottenTopic(topic="t", topic_id=TOPIC_ID, partitions=list(forget))]
        if forget
        else [],
    )


def sessions(slots: int = 10) -> FetchSessions:
    return FetchSessions(slots=slots, limit_bytes=1 << 20, share=1, random=Random(1))


def plan_of(cache: FetchSessions, asked: FetchRequest, *, owner: Any = OWNER, **details: Any) -> FetchPlan:
    return at_once(cache.plan(asked, owner=owner, **details))


def test_epoch_minus_one_opens_no_session() -> None:
    cache = sessions()
    plan = plan_of(cache, request(epoch=-1), uses_topic_ids=False, now_ms=0)
    assert (plan.session_id, plan.incremental, len(cache)) == (0, False, 0)


def test_epoch_zero_opens_a_session_and_one_continues_it() -> None:
    cache = sessions()
    opened = plan_of(cache, request(partitions={0: 5, 1: 6}), uses_topic_ids=False, now_ms=0)
    assert opened.session_id != 0
    plan = plan_of(
        cache,
        request(session_id=opened.session_id, epoch=1, partitions={1: 9}),
        uses_topic_ids=False,
        now_ms=1,
    )
    assert plan.incremental
    assert [(item.index, item.fetch_offset) for item in plan.items.values()] == [(0, 5), (1, 9)]


def test_forgotten_partitions_leave_the_session() -> None:
    cache = sessions()
    opened = plan_of(cache, request(partitions={0: 0, 1: 0}), uses_topic_ids=True, now_ms=0)
    plan = plan_of(
        cache,
        request(session_id=opened.session_id, epoch=1, partitions={}, forget=(0,)),
        uses_topic_ids=True,
        now_ms=1,
    )
    assert [item.index for item in plan.items.values()] == [1]


def test_a_session_without_partitions_ends() -> None:
    cache = sessions()
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    plan = plan_of(
        cache,
        request(session_id=opened.session_id, epoch=1, partitions={}, forget=(0,)),
        uses_topic_ids=False,
        now_ms=1,
    )
    assert plan.session_id == 0
    assert len(cache) == 0


def test_an_unknown_session_and_a_wrong_epoch_have_their_codes() -> None:
    cache = sessions()
    with pytest.raises(RequestError) as unknown:
        plan_of(cache, request(session_id=5, epoch=1), uses_topic_ids=False, now_ms=0)
    assert unknown.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    with pytest.raises(RequestError) as wrong:
        plan_of(cache, request(session_id=opened.session_id, epoch=3), uses_topic_ids=False, now_ms=0)
    assert wrong.value.code == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    # The session survives a wrong epoch (seen with Kafka 4.3.1).
    plan_of(cache, request(session_id=opened.session_id, epoch=1), uses_topic_ids=False, now_ms=0)


def test_a_session_of_names_refuses_topic_ids() -> None:
    cache = sessions()
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    with pytest.raises(RequestError) as refused:
        plan_of(cache, request(session_id=opened.session_id, epoch=1), uses_topic_ids=True, now_ms=0)
    assert refused.value.code == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_the_final_epoch_ends_the_session_it_names() -> None:
    cache = sessions()
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    plan_of(cache, request(session_id=opened.session_id, epoch=-1), uses_topic_ids=False, now_ms=0)
    assert len(cache) == 0


def test_the_last_mention_of_a_partition_counts() -> None:
    cache = sessions()
    twice = request(partitions={0: 1})
    twice.topics.append(
        FetchTopic(topic="t", partitions=[FetchPartition(partition=0, fetch_offset=2, partition_max_bytes=1)])
    )
    plan = plan_of(cache, twice, uses_topic_ids=False, now_ms=0)
    assert [(item.fetch_offset, item.max_bytes) for item in plan.items.values()] == [(2, 1)]


def test_a_full_cache_opens_no_session_until_the_oldest_is_idle() -> None:
    cache = sessions(slots=1)
    first = plan_of(cache, request(partitions={0: 0, 1: 0}), uses_topic_ids=False, now_ms=0)
    refused = plan_of(cache, request(), uses_topic_ids=False, now_ms=EVICTION_AGE_MS)
    assert refused.session_id == 0
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=EVICTION_AGE_MS + 1)
    assert opened.session_id not in (0, first.session_id)
    assert len(cache) == 1


def test_a_larger_session_evicts_a_smaller_one() -> None:
    cache = sessions(slots=1)
    plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    larger = plan_of(cache, request(partitions={0: 0, 1: 0}), uses_topic_ids=False, now_ms=1)
    assert larger.session_id != 0


def test_no_slots_means_no_sessions() -> None:
    plan = plan_of(sessions(slots=0), request(), uses_topic_ids=False, now_ms=0)
    assert plan.session_id == 0


def test_an_item_is_news_only_when_its_marks_moved() -> None:
    plan = plan_of(sessions(), request(), uses_topic_ids=False, now_ms=0)
    item = next(iter(plan.items.values()))
    assert item.is_news(high_watermark=5, log_start=0)
    assert not item.is_news(high_watermark=5, log_start=0)
    assert item.is_news(high_watermark=6, log_start=0)
    assert item.is_news(high_watermark=6, log_start=2)


def test_the_epoch_wraps_to_one() -> None:
    cache = sessions()
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    assert opened.session is not None
    opened.session.epoch = 2**31 - 1
    plan = plan_of(
        cache,
        request(session_id=opened.session_id, epoch=2**31 - 1),
        uses_topic_ids=False,
        now_ms=0,
    )
    assert plan.session is not None
    assert plan.session.epoch == 1


def test_a_partition_both_named_and_forgotten_is_forgotten() -> None:
    cache = sessions()
    opened = plan_of(cache, request(partitions={0: 0, 1: 0}), uses_topic_ids=False, now_ms=0)
    plan = plan_of(
        cache,
        request(session_id=opened.session_id, epoch=1, partitions={1: 5, 2: 5}, forget=(1, 2)),
        uses_topic_ids=False,
        now_ms=0,
    )
    assert list(plan.items) == [("t", 0)]


def test_a_session_that_no_longer_has_room_is_not_found() -> None:
    cache = FetchSessions(slots=10, limit_bytes=5_000, share=1, random=Random(1))
    opened = plan_of(cache, request(), uses_topic_ids=False, now_ms=0)
    grown = request(session_id=opened.session_id, epoch=1, partitions=dict.fromkeys(range(10), 0))
    with pytest.raises(RequestError) as refused:
        plan_of(cache, grown, uses_topic_ids=False, now_ms=1)
    assert refused.value.code == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(cache) == 0


def test_thirty_sessions_of_unknown_partitions_take_no_more_than_there_is_for_sessions() -> None:
    cache = FetchSessions(slots=1_000, limit_bytes=1 << 20, share=0.5, random=Random(1))
    for connection in range(30):
        unknown = request(partitions=dict.fromkeys(range(1_000), 0))
        plan_of(cache, unknown, uses_topic_ids=False, owner=Origin(connection), now_ms=0)
    assert len(cache) == 2
    assert cache.cache.size_bytes <= 1 << 20
