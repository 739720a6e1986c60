"""Thousands of topics and groups on a real gateway, in the console's lists; `--many 10000` for ten thousand.

The same is measured by `make bench ARGS='console --only lists'`.
"""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Iterator
from typing import Any, Final
from urllib.parse import quote

import pytest

from compat_tests.conftest import MANY
from compat_tests.kawal_broker import KawalBroker
from compat_tests.test_web_browser import served
from compat_tests.wire import RawClient
from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

pytestmark = pytest.mark.only_kawal(reason="the console is the gateway's own")

AT_ONCE: Final = 500
PAGE_BYTES_MAX: Final = 300_000
ROWS: Final = 200


@pytest.fixture(scope="module")
def count(request: pytest.FixtureRequest) -> int:
    """Return the number of topics and of groups, a multiple of AT_ONCE."""
    return max(1, int(request.config.getoption(MANY)) // AT_ONCE) * AT_ONCE


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory, count: int) -> Iterator[str]:
    """Yield the address of a console whose gateway has as many topics and groups."""
    broker, found = served(tmp_path_factory.mktemp("many"))
    fill(broker, count)
    yield found
    broker.stop()


def fill(broker: KawalBroker, count: int) -> None:
    """Make the topics, and a group for each that has read nothing of it."""
    raw = RawClient(broker)
    for begin in range(0, count, AT_ONCE):
        numbers = range(begin, begin + AT_ONCE)
        topics = [
            CreatableTopic(
                name=f"topic-{number:05}", num_partitions=1, replication_factor=1, assignments=[], configs=[]
            )
            for number in numbers
        ]
        answer = raw.call(CreateTopicsRequest(topics=topics, timeout_ms=60_000), 5)
        assert {topic.error_code for topic in answer.topics} == {0}
    for begin in range(0, count, AT_ONCE):
        for number in range(begin, begin + AT_ONCE):
            place = OffsetCommitRequestPartition(
                partition_index=0, committed_offset=0, committed_metadata=None
            )
            topic = OffsetCommitRequestTopic(name=f"topic-{number:05}", partitions=[place])
            raw.send(OffsetCommitRequest(group_id=f"group-{number:05}", member_id="", topics=[topic]), 8)
        for _ in range(AT_ONCE):
            (done,) = raw.receive().topics
            assert done.partitions[0].error_code == 0
    raw.close()


def page(origin: str, path: str) -> str:
    with urllib.request.urlopen(f"{origin}{path}", timeout=60) as answer:
        data: bytes = answer.read()
    return data.decode()


def rows(origin: str, path: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(page(origin, path))
    return found


@pytest.mark.parametrize("noun", ["topics", "groups"])
def test_thousands_are_listed_a_page_at_a_time_and_found_by_a_part_of_their_name(
    origin: str, count: int, noun: str
) -> None:
    first = page(origin, f"/{noun}")
    assert f"1 to {ROWS} of {count:,} {noun}" in first
    assert len(first.encode()) <= PAGE_BYTES_MAX
    name = noun.removesuffix("s")
    column = "name" if noun == "topics" else "group"
    last = rows(origin, f"/{noun}?skip={count - ROWS}&as=json")
    assert [row[column] for row in last] == [f"{name}-{number:05}" for number in range(count - ROWS, count)]
    (found,) = rows(origin, f"/{noun}?q={quote('-00777')}&as=json")
    assert found[column] == f"{name}-00777"
