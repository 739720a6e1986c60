"""Searches over partitions: bounds, ways to end early, and what is told about it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from console.link import LinkLost
from console.web.looks import Look
from console.web.ranges import Asked, range_of
from console.web.record_rows import Place
from console.web.search import Search, SearchFound
from console.web.search_bounds import Bounds
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send
from tests.broker.transactions import end, transactional
from tests.console.web.kit import ADDRESS, Web
from views.columns import parse_columns
from views.evaluator import Evaluator, build_evaluator
from views.plan import plan_view
from views.statement import parse_view

ZERO = Place("t", 0)


@pytest.fixture
def gateway() -> Iterator[Gateway]:
    """Give a broker to which all work of the test is connected, as a page's is."""
    web = Web()
    create(web.broker.client(), "t", 1, kawal_columns="n bigint")
    with web.at_work():
        yield web.broker


def fill(gateway: Gateway, batches: int, per_batch: int = 100) -> None:
    for first in range(0, batches * per_batch, per_batch):
        send(gateway.client(), "t", batch(*(b'{"n":%d}' % at for at in range(first, first + per_batch))))


def evaluator(where: str) -> Evaluator:
    statement = parse_view(f"SELECT * FROM t WHERE {where}")
    return build_evaluator(plan_view(statement, parse_columns("n bigint")))


class Ticking:
    """A clock that moves on with each look at it."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def forwards(where: str, end: int, bounds: Bounds, begin: int = 0, count: int = 200) -> SearchFound:
    search = Search(ADDRESS, evaluator(where), Look(), bounds, count=count)
    return search.oldest({ZERO: 0}, {ZERO: end}, {ZERO: begin})


def backwards(where: str, end: int, bounds: Bounds, below: int, count: int = 200) -> SearchFound:
    search = Search(ADDRESS, evaluator(where), Look(), bounds, count=count)
    return search.newest({ZERO: 0}, {ZERO: end}, {ZERO: below})


def test_a_search_ends_after_its_records_and_goes_on_there(gateway: Gateway) -> None:
    fill(gateway, 10)
    first = forwards("n % 100 = 7", 1000, Bounds(records=250))
    assert (first.cut_short, first.more, first.looked, first.total) == (True, True, 300, 1000)
    assert first.next == {ZERO: 300}
    rest = forwards("n % 100 = 7", 1000, Bounds(), begin=300)
    assert [row.offset for row in (*first.rows, *rest.rows)] == list(range(7, 1000, 100))
    assert (rest.cut_short, rest.more, rest.looked) == (False, False, 1000)


def test_backwards_it_goes_on_below(gateway: Gateway) -> None:
    fill(gateway, 10)
    first = backwards("n % 100 = 7", 1000, Bounds(records=250), 1000)
    assert first.cut_short
    assert first.more
    rest = backwards("n % 100 = 7", 1000, Bounds(), first.next[ZERO])
    assert [row.offset for row in (*first.rows, *rest.rows)] == list(range(907, 0, -100))
    assert rest.looked == 1000


@pytest.mark.parametrize("count", [1, 3, 200])
def test_no_match_is_lost_between_pages(gateway: Gateway, count: int) -> None:
    fill(gateway, 3, 30)
    seen: list[int] = []
    below = 90
    for _ in range(200):
        found = backwards("n % 2 = 0", 90, Bounds(), below, count)
        seen += [row.offset for row in found.rows]
        below = found.next[ZERO]
        if not found.more:
            break
    assert seen == list(range(88, -1, -2))


def test_what_is_not_on_the_page_is_counted(gateway: Gateway) -> None:
    fill(gateway, 10)
    found = forwards("n >= 0", 1000, Bounds(), count=10)
    assert (found.matched, len(found.rows), found.next) == (1000, 10, {ZERO: 10})


def test_time_ends_a_search_in_the_middle_of_a_batch(gateway: Gateway) -> None:
    fill(gateway, 1, 5000)
    found = forwards("n >= 0", 5000, Bounds(Ticking(1.0), seconds=4.0))
    assert (found.rows, found.looked, found.cut_short, found.stuck) == ([], 0, True, True)


def test_a_search_that_is_left_ends(gateway: Gateway) -> None:
    fill(gateway, 2)
    bounds = Bounds()
    bounds.leave()
    found = backwards("n >= 0", 200, bounds, 200)
    assert (found.rows, found.cut_short, bounds.left) == ([], True, True)


def test_a_broker_that_goes_away_is_no_slow_condition() -> None:
    web = Web()
    create(web.broker.client(), "t", 1, kawal_columns="n bigint")
    fill(web.broker, 1)
    bounds = Bounds(Ticking(0.1), seconds=3.0)
    search = Search(ADDRESS, evaluator("n >= 0"), Look(), bounds, count=200, wait=lambda _: None)
    with web.at_work():
        web.away = True
        with pytest.raises(LinkLost, match="went away during the search"):
            search.oldest({ZERO: 0}, {ZERO: 100}, {ZERO: 0})


def test_records_that_do_not_fit_are_counted_once(gateway: Gateway) -> None:
    fill(gateway, 2, 3)
    send(gateway.client(), "t", batch(b"nonsense", b'{"n":"text"}'))
    assert forwards("n >= 0", 8, Bounds()).unfit == 2
    assert backwards("n >= 0", 8, Bounds(), 8).unfit == 2


def test_a_value_of_a_mebibyte_is_found_and_cut(gateway: Gateway) -> None:
    send(gateway.client(), "t", batch(b'{"n":1,"x":"' + b"x" * 1_000_000 + b'"}'))
    (row,) = forwards("n = 1", 1, Bounds()).rows
    assert row.value is not None
    assert (len(row.value), row.value_size) == (2048, 1_000_014)


def test_the_largest_integer_is_compared_exactly(gateway: Gateway) -> None:
    send(gateway.client(), "t", batch(b'{"n":9223372036854775806}', b'{"n":9223372036854775807}'))
    found = forwards("n = 9223372036854775807", 2, Bounds())
    assert [row.offset for row in found.rows] == [1]


def test_what_was_aborted_or_is_still_open_is_not_found(gateway: Gateway) -> None:
    for producer, value in ((7, b'{"n":1}'), (8, b'{"n":2}'), (9, b'{"n":3}')):
        transactional(gateway, value, producer)
        if producer != 9:
            end(gateway, producer, commit=producer == 8)
    asked = Asked("t", "", "", (), "oldest", {})
    ends = range_of(ADDRESS, asked, committed=True).ends
    found = forwards("n >= 0", ends[ZERO], Bounds())
    assert [row.value for row in found.rows] == [b'{"n":2}']
    assert not found.more
