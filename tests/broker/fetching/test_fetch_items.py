"""An item of a fetch: what it costs, and when its marks are news."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

from broker.fetching.fetch_items import ITEM_BYTES
from broker.fetching.fetch_session_cache import FetchSession
from tests.broker.fetching.fetches import Origin, items_of


def test_an_item_takes_about_the_memory_that_it_counts_for() -> None:
    tracemalloc.start()
    items = items_of(5_000)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(items) == 5_000
    assert 0.9 * ITEM_BYTES < taken / 5_000 < 1.1 * ITEM_BYTES


def test_marks_are_news_once() -> None:
    (item,) = items_of(1).values()
    assert item.topic_id == UUID(int=0)
    assert item.is_news(high_watermark=3, log_start=0)
    assert not item.is_news(high_watermark=3, log_start=0)


def test_a_session_wants_memory_for_each_of_its_items() -> None:
    def wanted(count: int) -> int:
        session = FetchSession(1, items_of(count), uses_topic_ids=False, owner=Origin(), now_ms=0)
        return session.wanted_bytes

    assert wanted(11) - wanted(1) == 10 * ITEM_BYTES
