"""The commits of a group, read from their topic."""

from __future__ import annotations

import pytest

from console.web.commit_log import Commit, commits_in, commits_of
from console.web.search_bounds import Bounds
from groups.record_keys import OffsetKey
from groups.records import offset_key_bytes
from protocol.record_reader import Record
from protocol.record_writer import encode_batch
from tests.broker.gateway import START_MS
from tests.broker.groups import commit
from tests.broker.kit import create
from tests.console.web.kit import ADDRESS, Web


@pytest.fixture
def web() -> Web:
    found = Web()
    create(found.broker.client(), "t", partitions=2)
    for offset in (1, 2):
        commit(found.broker.client(), "g", ("t", 0, offset))
        commit(found.broker.client(), "gg", ("t", 0, 7))
        found.broker.advance(60_000)
    commit(found.broker.client(), "g", ("t", 1, 3))
    return found


def test_the_commits_of_a_group_are_told_by_partition_with_their_times(web: Web) -> None:
    with web.at_work():
        found = commits_of(ADDRESS, "g", START_MS, Bounds())
    assert found.whole
    assert [commit.offset for commit in found.places["t", 0]] == [1, 2]
    first, second = found.places["t", 0]
    assert second.time_ms - first.time_ms == 60_000
    (third,) = found.places["t", 1]
    assert third == Commit(second.time_ms + 60_000, 3)


def test_those_of_other_groups_and_of_earlier_times_are_left_out(web: Web) -> None:
    with web.at_work():
        assert commits_of(ADDRESS, "gg", START_MS, Bounds()).places.keys() == {("t", 0)}
        assert commits_of(ADDRESS, "nobody", START_MS, Bounds()).places == {}
        later = commits_of(ADDRESS, "g", web.broker.now_ms + 1, Bounds())
    assert (later.places, later.whole) == ({}, True)


def test_what_cannot_be_read_is_left_out() -> None:
    key = offset_key_bytes(OffsetKey("g", "t", 0))
    records = [
        Record(0, 1, key, b"\x00\x63later"),
        Record(1, 2, key, b"\x00"),
        Record(2, 3, key + b"more", b"x"),
        Record(3, 4, key, None),
        Record(4, 5, None, b"x"),
    ]
    found = list(commits_in(memoryview(encode_batch(records)), "g"))
    assert [commit for _, commit in found] == [Commit(4, None)]


def test_without_time_it_says_that_the_newest_are_missing(web: Web) -> None:
    with web.at_work():
        assert not commits_of(ADDRESS, "g", START_MS, Bounds(seconds=-1)).whole
