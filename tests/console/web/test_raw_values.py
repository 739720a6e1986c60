"""The newest values of a topic, masked."""

from __future__ import annotations

from console.web.masks import TopicMask
from console.web.ranges import Asked, range_of
from console.web.raw_values import last_values
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web

WHOLE = Asked("t", "", "", (), "newest", {})


def test_the_last_ones_come_masked() -> None:
    web = Web()
    create(web.broker.client(), "t")
    send(web.broker.client(), "t", batch(*(b'{"n":%d,"s":"x"}' % n for n in range(20))))
    with web.at_work():
        span = range_of(ADDRESS, WHOLE)
        found = list(last_values(ADDRESS, span, 3, TopicMask(columns=frozenset({"s"}))))
    assert found == [b'{"n":%d,"s":"(masked)"}' % n for n in (17, 18, 19)]


def test_an_empty_topic_has_none() -> None:
    web = Web()
    create(web.broker.client(), "t", 3)
    with web.at_work():
        assert list(last_values(ADDRESS, range_of(ADDRESS, WHOLE), 10, TopicMask())) == []
