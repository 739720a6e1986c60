"""Followers of a topic: what a push has, what it leaves out, and brokers that go away."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from console.client import Trouble
from console.errors import CommandError
from console.fetcher import Fetcher
from console.web.following import BEHIND_MAX, ROWS, Follower, Push
from console.web.looks import Look
from console.web.masks import TopicMask
from console.web.record_rows import Place
from protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web
from tests.console.web.test_search import evaluator

ZERO = Place("t", 0)


class Looking(Follower):
    """A follower that looks a few times and leaves."""

    looks = 3

    def _poll(self, fetcher: Fetcher, trouble: Trouble) -> None:
        super()._poll(fetcher, trouble)
        self.looks -= 1
        if not self.looks:
            self.leave()


@pytest.fixture
def web() -> Web:
    web = Web()
    create(web.broker.client(), "t", kawal_columns="n bigint")
    return web


def fill(web: Web, count: int, per_batch: int = 10) -> None:
    for first in range(0, count, per_batch):
        values = (b'{"n":%d}' % n for n in range(first, min(first + per_batch, count)))
        send(web.broker.client(), "t", batch(*values, timestamp_ms=1_700_000_000_000 + first))


def follow(web: Web, begin: int = 0, ends: Mapping[Place, int] | None = None, **more: Any) -> Push | None:
    follower = Looking(ADDRESS, {ZERO: begin}, more.pop("look", Look()), **more, wait=lambda _: None)
    if ends is not None:
        follower.skip_to(ends)
    with web.at_work():
        follower.follow()
    return follower.take()


def test_a_push_has_what_came_the_newest_first_and_where_it_goes_on(web: Web) -> None:
    fill(web, 30)
    push = follow(web, 5)
    assert push is not None
    assert [row.offset for row in push.rows] == list(range(29, 4, -1))
    assert (push.left_out, push.passed, push.positions, push.away) == (0, 0, {ZERO: 30}, False)


def test_where_nothing_came_there_is_no_push(web: Web) -> None:
    fill(web, 3)
    assert follow(web, 3) is None


def test_a_push_says_how_many_it_leaves_out(web: Web) -> None:
    fill(web, 1000)
    push = follow(web)
    assert push is not None
    assert (len(push.rows), push.left_out) == (ROWS, 1000 - ROWS)
    assert push.rows[0].offset == 999


def test_a_follower_that_is_far_behind_begins_near_the_end(web: Web) -> None:
    fill(web, 12_000, 2_000)
    push = follow(web, 0, {ZERO: 12_000})
    assert push is not None
    assert push.passed == 12_000 - BEHIND_MAX // 2
    assert len(push.rows) + push.left_out == BEHIND_MAX // 2
    assert push.positions == {ZERO: 12_000}


def test_a_condition_chooses_what_counts(web: Web) -> None:
    fill(web, 200)
    push = follow(web, evaluator=evaluator("n % 100 = 7"))
    assert push is not None
    assert ([row.offset for row in push.rows], push.left_out) == ([107, 7], 0)


def test_what_is_masked_is_in_no_push(web: Web) -> None:
    fill(web, 1)
    push = follow(web, look=Look(TopicMask(columns=frozenset({"n"})), ("n",)))
    assert push is not None
    assert push.rows[0].value == b'{"n":"(masked)"}'


def test_a_broker_that_goes_away_and_comes_back_is_followed_on(web: Web) -> None:
    fill(web, 10)

    class Away(Looking):
        looks = 8
        pushes: list[Push]

        def _poll(self, fetcher: Fetcher, trouble: Trouble) -> None:
            web.away = self.looks in (5, 6)
            if self.looks == 5:
                fill(web, 10)
            super()._poll(fetcher, trouble)
            if (push := self.take()) is not None:
                self.pushes.append(push)

    follower = Away(ADDRESS, {ZERO: 0}, Look(), wait=lambda _: None)
    follower.pushes = []
    with web.at_work():
        follower.follow()
    assert [push.away for push in follower.pushes] == [False, True, False]
    assert [len(push.rows) for push in follower.pushes] == [10, 0, 10]
    assert follower.pushes[-1].positions == {ZERO: 20}


def test_a_topic_that_is_deleted_ends_it_with_a_sentence(web: Web) -> None:
    fill(web, 3)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000)
    web.broker.client().call(request, 6)
    with pytest.raises(CommandError, match="'t' does not exist any more"):
        follow(web)
