"""The state of share groups in partitions, as operators see it."""

from __future__ import annotations

import pytest

from broker.fetching.share_progress import (
    Place,
    Progress,
    find_share,
    group_of,
    keys_of,
    places_of,
    progress_of,
    read_end,
)
from broker.loop.slices import at_once
from groups.errors import GroupNotFound
from groups.share.state_records import ShareKey
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE


def progress(jobs: Jobs) -> Progress:
    gateway = jobs.gateway
    broker, now_ms = gateway.broker, gateway.now_ms
    key = ShareKey("g", *jobs.place)
    return at_once(
        progress_of(
            broker, broker.coordinators.shares, key, now_ms=now_ms, wall_ms=broker.clock.wall_ms(now_ms)
        )
    )


def test_records_that_were_never_looked_at_are_available() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    assert (progress(jobs).available, progress(jobs).oldest_ms) == (0, 0)
    jobs.produce(b"a", b"b", b"c")
    member.fetch(jobs.place)
    member.acknowledge(jobs.place, (0, 2, [ACCEPT, RELEASE, RELEASE]))
    jobs.produce(b"d")
    jobs.gateway.advance(5_000)
    found = progress(jobs)
    assert (found.start, found.next_offset, found.end, found.available) == (1, 3, 4, 3)
    assert found.oldest_ms >= 5_000


def test_the_topics_of_a_group_that_exist() -> None:
    jobs = Jobs(partitions=3)
    jobs.member("m1")
    broker, now_ms = jobs.gateway.broker, jobs.gateway.now_ms
    with broker.groups.step(now_ms) as coordinator:
        group = group_of(coordinator, "g", now_ms)
        with pytest.raises(GroupNotFound, match="Group other is not a share group"):
            group_of(coordinator, "other", now_ms)
    place = Place(jobs.topic_id, "jobs", [0, 1, 2])
    later = places_of(group, broker)
    assert list(places_of(group, broker)) == [place]
    assert [key.partition for key in keys_of("g", place)] == [0, 1, 2]
    jobs.gateway.client().call(DeleteTopicsRequest(topic_names=["jobs"], timeout_ms=1), 5)
    assert (list(places_of(group, broker)), list(later)) == ([], [])


def test_a_state_that_does_not_exist_and_the_end_of_a_partition() -> None:
    jobs = Jobs()
    jobs.member("m1")
    jobs.produce(b"a")
    broker, now_ms = jobs.gateway.broker, jobs.gateway.now_ms
    partition, share = find_share(broker, broker.coordinators.shares, ShareKey("g", *jobs.place), now_ms)
    assert (read_end(broker, "g", partition), share.start) == (1, 0)
    with pytest.raises(GroupNotFound):
        find_share(broker, broker.coordinators.shares, ShareKey("h", *jobs.place), now_ms)
