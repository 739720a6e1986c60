"""The list of topics."""

from __future__ import annotations

import json

import pytest

from console.web import topic_list
from protocol.messages.metadata import (
    MetadataResponse,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from tests.broker.kit import create
from tests.console.web.kit import Web


def listed(web: Web, query: str = "") -> list[str]:
    return [row["name"] for row in json.loads(web.get(f"/topics?as=json&{query}").body)]


def test_topics_are_found_by_a_part_of_their_name_and_sorted() -> None:
    web = Web()
    for name, partitions in (("orders", 1), ("Orders.late", 3), ("gates", 2)):
        create(web.broker.client(), name, partitions=partitions)
    assert listed(web) == ["Orders.late", "gates", "orders"]
    assert listed(web, "q=ORDERS") == ["Orders.late", "orders"]
    assert listed(web, "sort=-partitions") == ["Orders.late", "gates", "orders"]
    assert listed(web, "sort=partitions") == ["orders", "gates", "Orders.late"]
    assert web.get("/topics?sort=x").status == 400


def test_what_is_looked_for_is_shown_as_it_was_written() -> None:
    page = Web().get("/topics?q=%22%3E%3Cscript%3E%E2%80%AE")
    assert "<script>" not in page.html
    assert 'No topic has "><script>\\u202e in its name' in page.text


def test_an_empty_list_leads_to_the_first_steps() -> None:
    assert Web().get("/topics").links("overview") == ["/"]


def test_10_000_topics_are_one_request_and_200_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    partition = MetadataResponsePartition(partition_index=0, leader_id=1, replica_nodes=[1], isr_nodes=[1])
    many = [
        MetadataResponseTopic(name=f"topic-{number:05}", partitions=[partition]) for number in range(10_000)
    ]
    asked: list[object] = []

    def ask(*request: object) -> MetadataResponse:
        asked.append(request)
        return MetadataResponse(brokers=[], topics=many)

    monkeypatch.setattr(topic_list, "ask", ask)
    page = Web().get("/topics?skip=200")
    assert len(asked) == 1
    assert len(page.body) < 300_000
    assert page.html.count('<th scope="row">') == 200
    assert "201 to 400 of 10,000 topics" in page.text
    assert page.links("after →") == ["/topics?skip=400", "/topics?skip=400"]


def test_a_topic_is_opened_by_its_name() -> None:
    web = Web()
    create(web.broker.client(), "a" * 249)
    assert web.get("/topics").links("a" * 249) == ["/topics/" + "a" * 249]
