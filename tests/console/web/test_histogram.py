"""Histograms out of offsets at 60 moments."""

from __future__ import annotations

import pytest

from console.web.histogram import MOMENTS, histogram_of
from console.web.kept_bars import KEPT_SECONDS, KeptBars, TimeBar
from console.web.ranges import Asked, range_of
from protocol.messages.fetch import FetchRequest
from tests.broker.gateway import START_MS, Gateway
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web

MINUTE = 60_000
FIRST = START_MS - 1000 * MINUTE
"""Records may be old, but not much newer than the broker's clock."""


def filled(web: Web, *minutes: int, partitions: int = 2) -> None:
    client = web.broker.client()
    create(client, "t", partitions)
    for at, minute in enumerate(minutes):
        send(client, "t", batch(b"v", timestamp_ms=FIRST + minute * MINUTE), at % partitions)


def bars(web: Web, position: str = "", until: str = "", partitions: tuple[int, ...] = ()) -> list[TimeBar]:
    with web.at_work():
        span = range_of(ADDRESS, Asked("t", position, until, partitions, "oldest", {}))
        return histogram_of(span, KeptBars())


def test_the_bars_together_are_all_records() -> None:
    web = Web()
    filled(web, *range(120))
    found = bars(web)
    assert len(found) == MOMENTS
    assert sum(bar.offsets for bar in found) == 120
    assert {bar.offsets for bar in found} <= {1, 2, 3}
    assert (found[0].begin_ms, found[-1].end_ms) == (FIRST, FIRST + 119 * MINUTE + 1)


def test_no_record_is_read() -> None:
    web = Web()
    filled(web, *range(10))
    bars(web)
    assert not [request for request in web.sent if isinstance(request, FetchRequest)]


def test_a_range_is_looked_at_closer() -> None:
    web = Web()
    filled(web, *range(600))
    found = bars(web, f"@{FIRST + 100 * MINUTE}", f"@{FIRST + 110 * MINUTE}")
    assert sum(bar.offsets for bar in found) == 10
    assert found[-1].end_ms - found[0].begin_ms <= 20 * MINUTE


@pytest.mark.parametrize("minutes", [(), (5,), (5, 5, 5)])
def test_few_records_make_few_bars(minutes: tuple[int, ...]) -> None:
    web = Web()
    filled(web, *minutes)
    assert sum(bar.offsets for bar in bars(web)) == len(minutes)


def test_times_that_do_not_rise_are_not_counted_twice() -> None:
    web = Web()
    filled(web, 50, 0, 100, 20, partitions=1)
    assert sum(bar.offsets for bar in bars(web)) <= 4


def test_the_bars_of_a_page_are_links_to_their_records() -> None:
    web = Web(broker=Gateway())
    filled(web, *range(90))
    page = web.get("/topics/t/records")
    assert page.html.count('<rect class="behind"') >= MOMENTS - 5
    assert f"from=%40{FIRST}&amp;until=%40" in page.html
    assert "an alias of this window" in page.text


def test_a_view_is_said_to_have_offsets() -> None:
    web = Web()
    filled(web, *range(9))
    create(web.broker.client(), "v", -1, kawal_alias_of="t")
    page = web.get("/topics/v/records")
    assert "offsets, some of which may have no record" in page.text
    assert "an alias of this window" not in page.text


def test_the_bars_of_a_range_are_asked_for_once_a_minute() -> None:
    web, now = Web(), [0.0]
    filled(web, *range(120))
    kept = KeptBars(lambda: now[0])
    span = Asked("t", "", "", (), "oldest", {})
    with web.at_work():
        found = histogram_of(range_of(ADDRESS, span), kept)
        asked = len(web.sent)
        assert histogram_of(range_of(ADDRESS, span), kept) == found
        again = len(web.sent) - asked
        assert again < 10, "the range alone was asked for"
        now[0] = KEPT_SECONDS
        asked = len(web.sent)
        assert histogram_of(range_of(ADDRESS, span), kept) == found
        assert len(web.sent) - asked > MOMENTS
        send(web.broker.client(), "t", batch(b"v", timestamp_ms=FIRST + 120 * MINUTE))
        assert sum(bar.offsets for bar in histogram_of(range_of(ADDRESS, span), kept)) == 121
