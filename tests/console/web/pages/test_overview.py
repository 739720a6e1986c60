"""The overview."""

from __future__ import annotations

import json
from html import unescape

import pytest

from console.web.pages import overview
from console.web.pages.overview import first_address
from console.web.topic_list import Cluster
from protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.broker.gateway import Client
from tests.broker.kit import batch, create, send
from tests.console.web.kit import Web


def test_an_empty_broker_has_its_first_steps_with_its_address() -> None:
    web = Web()
    page = web.get("/")
    assert page.status == 200
    assert "Send the first record" in page.text
    assert "kcat -b " in page.text
    assert "0 topics" in page.text


def test_counts_are_of_topics_that_are_not_the_brokers_own() -> None:
    web = Web()
    create(web.broker.client(), "orders", partitions=3)
    page = web.get("/")
    assert "1 topic 3 partitions" in page.text
    assert "Send the first record" not in page.text
    (row,) = json.loads(web.get("/?as=json").body)
    assert (row["topics"], row["partitions"], row["brokers"]) == (1, 3, 1)


def test_no_broker_is_no_address() -> None:
    assert first_address(Cluster([], -1, [], None)) == ""


def test_the_first_steps_are_for_shell_python_java_and_spark_with_the_advertised_address() -> None:
    page = Web().get("/")
    for line in (
        "kcat -b gateway:9092 -P -t orders -K :",
        'KafkaProducer(bootstrap_servers="gateway:9092")',
        'settings.put("bootstrap.servers", "gateway:9092");',
        'new ProducerRecord<>("orders", "{\\"total\\":12.5}")',
        'option("kafka.bootstrap.servers", "gateway:9092")',
    ):
        assert line in unescape(page.html)


def test_views_are_counted() -> None:
    web = Web()
    create(web.broker.client(), "t")
    create(web.broker.client(), "v", kawal_sql="SELECT * FROM t")
    assert "1 view " in web.get("/").text


def test_the_groups_that_are_furthest_behind_lead_to_their_pages() -> None:
    web = Web()
    create(web.broker.client(), "t")
    send(web.broker.client(), "t", batch(b"a", b"b", b"c"))
    for group, offset in (("near", 2), ("far", 0), ("done", 3)):
        commit(web.broker.client(), group, offset)
    page = web.get("/")
    assert "Furthest behind" in page.text
    assert page.text.index("far ") < page.text.index("near ")
    assert page.links("far") == ["/groups/far"]
    assert page.links("done") == []


def test_without_groups_or_with_too_many_none_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web()
    assert "Furthest behind" not in web.get("/").text
    create(web.broker.client(), "t")
    send(web.broker.client(), "t", batch(b"a"))
    commit(web.broker.client(), "g", 0)
    monkeypatch.setattr(overview, "LOOKED_AT_MAX", 0)
    assert "Furthest behind" not in web.get("/").text


def commit(client: Client, group: str, offset: int) -> None:
    place = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata=None)
    topic = OffsetCommitRequestTopic(name="t", partitions=[place])
    (done,) = client.call(OffsetCommitRequest(group_id=group, member_id="", topics=[topic]), 8).topics
    assert done.partitions[0].error_code == 0
