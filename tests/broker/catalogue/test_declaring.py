"""Topics that declare their sub-tables are known by database, and what has changed of them since a look."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import pytest

from broker.catalogue import declaring
from broker.catalogue.declaring import DeclaringTopics
from tests.broker.databases import create_database
from tests.broker.gateway import Client, Gateway
from tests.broker.kit import create
from tests.broker.topic_changes import alter, delete
from tests.broker.views import PLACE, make_view

COLUMNS = "v int, city string tag"


class View:
    """A view of a database, as far as it follows the topics."""

    def __init__(self, gateway: Gateway, database: str = "d") -> None:
        self.catalogue, self.database = gateway.broker.catalogue, database
        self.since = self.next_stream = 0
        self.has_changed()

    def has_changed(self) -> bool:
        """Whether topics have changed since the last time."""
        topics = self.catalogue.declaring
        found = topics.has_changed(self.database, self.since, next_stream=self.next_stream)
        self.since, self.next_stream = topics.changes, self.catalogue.next_stream
        return found


@pytest.fixture
def gateway() -> Gateway:
    gateway = Gateway()
    create_database(gateway.client(), "d", vnodes="1")
    return gateway


def make(client: Client, name: str, *, declares: bool = True, **configs: str) -> None:
    kind = "auto" if declares else "sql"
    create(client, name, 1, **{PLACE: "d", "kawal.tables.declare": kind, "kawal.columns": COLUMNS, **configs})


def test_topics_are_counted_by_their_database_as_they_are_now(gateway: Gateway) -> None:
    client, topics = gateway.client(), gateway.broker.catalogue.declaring
    for name in ("t", "u"):
        make(client, name)
    make(client, "plain", declares=False)
    create(client, "elsewhere", 1, **{"kawal.tables.declare": "auto"})
    make_view(client, "view", "DATABASE d WITH META")
    assert (topics.count("d"), topics.count("default"), topics.count("none")) == (2, 1, 0)
    assert gateway.broker.find_topic("u").topic_id in topics
    alter(client, "u", "kawal.tables.declare", "sql")
    assert topics.count("d") == 1
    delete(gateway, "t")
    assert topics.count("d") == 0
    assert gateway.broker.find_topic("u").topic_id not in topics
    create(client, "again", 1, **{"kawal.tables.declare": "auto"})
    gateway.restart()
    assert gateway.broker.catalogue.declaring.count("default") == 2


def test_topics_that_are_created_or_deleted_change_nothing_of_what_was_told(gateway: Gateway) -> None:
    client = gateway.client()
    make(client, "t")
    view = View(gateway)
    make(client, "u")
    alter(client, "u", "kawal.columns", COLUMNS + ", wing string tag")
    assert not view.has_changed(), "it had no records when the view looked"
    delete(gateway, "t")
    assert not view.has_changed()


def test_topics_that_begin_or_end_to_declare_have_changed(gateway: Gateway) -> None:
    client = gateway.client()
    make(client, "t", declares=False)
    view, elsewhere = View(gateway), View(gateway, "default")
    topic = gateway.broker.find_topic("t")
    for kind in ("auto", "sql"):
        before = view.since
        alter(client, "t", "kawal.tables.declare", kind)
        topics = gateway.broker.catalogue.declaring
        assert topics.has_topic_changed(topic, before)
        assert view.has_changed()
        assert not view.has_changed()
        assert not topics.has_topic_changed(topic, view.since)
    assert not elsewhere.has_changed()


def test_other_columns_are_a_change_if_the_tags_among_them_are_others(gateway: Gateway) -> None:
    client = gateway.client()
    make(client, "t")
    view = View(gateway)
    alter(client, "t", "kawal.columns", COLUMNS + ", w int")
    assert not view.has_changed()
    alter(client, "t", "kawal.columns", COLUMNS + ", w int, floor int tag")
    assert view.has_changed()
    alter(client, "t", "kawal.columns", "v int")
    assert view.has_changed()


def test_the_order_is_that_of_the_last_changes(gateway: Gateway) -> None:
    client = gateway.client()
    for name in ("t", "u"):
        make(client, name)
        alter(client, name, "kawal.columns", "v int")
    view = View(gateway)
    alter(client, "t", "kawal.columns", COLUMNS)
    assert view.has_changed()


def test_a_deletion_that_is_taken_back_is_a_change(gateway: Gateway) -> None:
    make(gateway.client(), "t")
    catalogue = gateway.broker.catalogue
    topic, view = gateway.broker.find_topic("t"), View(gateway)
    change = catalogue._plan_deletion(topic)
    assert not view.has_changed()
    change.undo()
    assert view.has_changed()


def test_nothing_is_kept_of_topics_that_are_gone(gateway: Gateway) -> None:
    topics = gateway.broker.catalogue.declaring
    for name in ("t", "u"):
        make(gateway.client(), name)
        delete(gateway, name)
    assert (topics._columns, dict(topics._counts), topics._changed) == ({}, {}, {})


class Counted(OrderedDict[Any, Any]):
    """The changes of topics, which counts those that are looked at."""

    looked = 0

    def values(self) -> Any:
        plain: Any = super().values()

        class Values:
            def __reversed__(self) -> Iterator[Any]:
                for value in reversed(plain):
                    Counted.looked += 1
                    yield value

        return Values()


def test_a_view_looks_at_what_has_changed_since_and_at_no_other_topic(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declaring, "OrderedDict", Counted)
    topics: DeclaringTopics = gateway.broker.catalogue.declaring
    client = gateway.client()
    for number in range(50):
        make(client, f"t{number}")
    view = View(gateway)
    for number in range(3):
        make(client, f"new{number}")
        alter(client, f"t{number}", "kawal.columns", COLUMNS + ", w int")
    Counted.looked = 0
    assert not view.has_changed()
    assert Counted.looked == 4, "three that are new, and the last one before"
    Counted.looked = 0
    assert not view.has_changed()
    assert Counted.looked == 1
    assert topics.count("d") == 53
