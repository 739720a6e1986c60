"""Topics that declare their sub-tables are found by database, after every change."""

from __future__ import annotations

from broker.view_topics.declaring_topics import DeclaringTopics
from tests.broker.databases import create_database
from tests.broker.gateway import Gateway
from tests.broker.kit import create
from tests.broker.topic_changes import alter, delete
from tests.broker.views import PLACE


def test_topics_are_found_by_their_database_as_they_are_now() -> None:
    gateway = Gateway()
    client = gateway.client()
    create_database(client, "d", vnodes="1")
    found = gateway.broker.views.shared(DeclaringTopics)
    assert (found.of("d"), found.of("default")) == ([], [])
    for name, configs in (("t", {PLACE: "d"}), ("u", {PLACE: "d"}), ("elsewhere", {})):
        create(client, name, 1, **{"kawal.tables.declare": "auto"}, **configs)
    create(client, "plain", 1, **{PLACE: "d"})
    assert [topic.name for topic in found.of("d")] == ["t", "u"]
    assert [topic.name for topic in found.of("default")] == ["elsewhere"]
    alter(client, "u", "kawal.tables.declare", "sql")
    assert [topic.name for topic in found.of("d")] == ["t"]
    delete(gateway, "t")
    assert found.of("d") == []
