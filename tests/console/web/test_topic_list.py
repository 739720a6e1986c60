"""All topics by one request."""

from __future__ import annotations

import trio

from console.web.topic_list import TopicRow, cluster_of, topics_of
from protocol.messages.metadata import MetadataRequest
from tests.broker.kit import create
from tests.console.web.kit import ADDRESS, Web


def test_a_cluster_has_its_topics_in_order() -> None:
    web = Web()
    for name in ("b", "a"):
        create(web.broker.client(), name, partitions=2)

    async def main() -> None:
        kafka = web.console._everyone
        _, topics = await kafka.run(topics_of, ADDRESS)
        assert topics[:2] == [TopicRow("a", 2, False, False), TopicRow("b", 2, False, False)]
        cluster = await kafka.run(cluster_of, ADDRESS)
        assert cluster.groups == 0
        assert len(cluster.brokers) == 1

    trio.run(main)
    assert sum(isinstance(request, MetadataRequest) for request in web.sent) == 2
