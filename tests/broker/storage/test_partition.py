"""A partition links a topic's index to its stream and shows the stream's marks."""

from __future__ import annotations

from tests.broker.gateway import Gateway
from tests.broker.kit import batch, create, producing, send


def test_its_marks_follow_the_disk() -> None:
    gateway = Gateway(log_retention_check_interval_ms=1_000)
    client = gateway.client()
    create(client, "t", 2, retention_bytes="1", internal_segment_bytes="100")
    partition = gateway.partition("t", 1)
    assert (partition.log_start, partition.last_stable_offset, partition.high_watermark) == (0, 0, 0)
    client.send(producing(("t", 1, batch(b"a", b"b"))), 9)
    assert partition.high_watermark == 0
    gateway.settle()
    client.answers()
    assert (partition.last_stable_offset, partition.high_watermark) == (2, 2)
    send(client, "t", batch(b"c"), 1)
    gateway.advance(3_000)
    assert (partition.log_start, partition.high_watermark) == (2, 3)


def test_partitions_of_one_topic_have_streams_of_their_own() -> None:
    gateway = Gateway()
    create(gateway.client(), "t", 3)
    assert len({gateway.partition("t", index).stream_id for index in range(3)}) == 3
    assert gateway.partition("t", 1) is gateway.partition("t", 1)
