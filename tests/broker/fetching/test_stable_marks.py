"""Committed records wake a fetch of such records; others do not."""

from __future__ import annotations

from uuid import UUID

from broker.fetching.fetch_items import FetchItem
from broker.fetching.stable_marks import StableMarks
from protocol.error_codes import ErrorCode
from protocol.messages.fetch import PartitionData
from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, send


def read(gateway: Gateway, *, mark: int, error: int = 0) -> tuple[FetchItem, PartitionData]:
    item = FetchItem("t", UUID(int=0), 0, by_id=False)
    item.topic = gateway.broker.find_topic("t")
    data = PartitionData(
        partition_index=0, error_code=error, high_watermark=mark, last_stable_offset=mark, records=None
    )
    return item, data


def test_a_partition_is_of_use_once_more_of_it_is_stable() -> None:
    gateway = Gateway()
    client = gateway.client()
    create(client, "t")
    marks = StableMarks(gateway.broker.topics)
    marks.add([read(gateway, mark=0)])
    key = gateway.partition("t").wait_key
    assert not marks.is_passed(key)
    send(client, "t", batch(b"a"))
    assert marks.is_passed(key)


def test_whatever_arrives_is_of_use_where_nothing_was_read() -> None:
    gateway = Gateway()
    create(gateway.client(), "t")
    marks = StableMarks(gateway.broker.topics)
    marks.add([read(gateway, mark=0, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)])
    assert marks.is_passed(gateway.partition("t").wait_key)
    assert marks.is_passed(-5)
