"""A topic as its page shows it."""

from __future__ import annotations

import pytest
import trio

from console.positions import Extent
from console.web.errors import PageError
from console.web.topic_facts import PartitionRow, TopicFacts, facts_of, partition_extents
from tests.broker.kit import batch, create, send
from tests.console.web.kit import ADDRESS, Web


def facts(web: Web, name: str) -> TopicFacts:
    async def main() -> TopicFacts:
        return await web.console._everyone.run(facts_of, ADDRESS, name)

    return trio.run(main)


def test_partitions_and_settings_that_were_made_first() -> None:
    web = Web()
    create(web.broker.client(), "t", partitions=2, retention_ms="1000")
    send(web.broker.client(), "t", batch(b"a", b"b"), 1)
    found = facts(web, "t")
    assert found.partitions == [PartitionRow(0, 1, [1], 0, 0), PartitionRow(1, 1, [1], 0, 2)]
    assert (found.settings[0].name, found.settings[0].value, found.settings[0].is_set) == (
        "retention.ms",
        "1000",
        True,
    )
    assert (found.is_view, found.internal, found.settings_problem) == (False, False, "")


def test_a_view_is_told() -> None:
    web = Web()
    create(web.broker.client(), "t")
    create(web.broker.client(), "v", kawal_sql="SELECT * FROM t")
    assert facts(web, "v").is_view


@pytest.mark.parametrize("name", ["none", "a/b", ""])
def test_a_topic_that_does_not_exist_is_not_found(name: str) -> None:
    with pytest.raises(PageError) as missing:
        facts(Web(), name)
    assert missing.value.status == 404


def test_extents_are_by_partition() -> None:
    web = Web()
    create(web.broker.client(), "t", partitions=2)

    async def main() -> None:
        found = await web.console._everyone.run(partition_extents, ADDRESS, "t")
        assert found == {0: Extent(0, 0), 1: Extent(0, 0)}

    trio.run(main)
