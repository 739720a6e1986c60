"""An item of a fetch: what it costs, and when its marks are news."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

import pytest

from broker.fetching.fetch_items import ITEM_BYTES
from broker.fetching.fetch_session_cache import FetchSession
from protocol.error_codes import ErrorCode
from protocol.messages.delete_topics import DeleteTopicsRequest
from tests.broker.cluster_txn import index_on, txn_cluster
from tests.broker.fetching.fetches import Origin, items_of
from tests.broker.kit import fetching


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


@pytest.mark.parametrize("number", [0, 1])
def test_a_topic_deleted_in_a_session_was_known_also_to_a_node_that_does_not_lead_it(number: int) -> None:
    """Bug: the session of a node that does not lead the partition said that the id is unknown (100)."""
    cluster = txn_cluster(2)
    topic_id, index = cluster[0].broker.find_topic("t").topic_id, index_on(cluster, 1)
    client = cluster[number].client()
    opened = cluster.call(client, fetching({(topic_id, index): 0}, session=(0, 0)), 13)
    cluster.call(
        cluster[0].client(), DeleteTopicsRequest(topic_names=["t"], timeout_ms=1_000), 5, within_ms=100
    )
    answer = cluster.call(client, fetching({}, session=(opened.session_id, 1)), 13)
    assert [each.error_code for topic in answer.responses for each in topic.partitions] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    ]
