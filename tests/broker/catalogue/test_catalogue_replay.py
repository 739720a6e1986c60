"""Records of the catalogue take effect as far as those before them are still there."""

from __future__ import annotations

from uuid import UUID

import pytest

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseConfigs,
    DatabaseCreated,
    PartitionsAdded,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
    ViewDefinition,
    ViewReloaded,
)
from broker.catalogue.catalogue_replay import replay_all, with_default_database

DEFAULT = DatabaseCreated(name="default", vnode_count=2, durability="disk")


def topic(
    number: int, name: str = "t", database: str = "default", view: ViewDefinition | None = None
) -> TopicCreated:
    return TopicCreated(
        name=name, topic_id=UUID(int=number).hex, database=database, first_stream=number, partition_count=1,
        first_vnode=0, created_ms=0, view=view,
    )  # fmt: skip


def names(*records: CatalogueRecord) -> set[str]:
    return set(replay_all(records).by_name)


LOST = UUID(int=77).hex


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (topic(2, "u", "metrics"), "no database 'metrics'"),
        (topic(2, "v", view=ViewDefinition(kind="filter", source="s", source_id=LOST)), "no topic 's'"),
        (PartitionsAdded(topic_id=LOST, first_stream=5, count=1), "no topic of that id"),
        (TopicConfigs(topic_id=LOST, configs={}), "no topic of that id"),
        (TopicDeleted(topic_id=LOST), "no topic of that id"),
        (
            PartitionsAdded(topic_id=UUID(int=1).hex, first_stream=5, count=1, first_partition=2),
            "topic 't' has only 1 partitions before these",
        ),
        (DatabaseConfigs(name="metrics", configs={}), "no database 'metrics'"),
        (
            ViewReloaded(topic_id=UUID(int=1).hex, configs={}, view=ViewDefinition(kind="query", source="s")),
            "topic 't' is not a view",
        ),
    ],
)
def test_a_record_about_something_lost_is_skipped_and_told(
    record: CatalogueRecord, problem: str, caplog: pytest.LogCaptureFixture
) -> None:
    catalogue = replay_all([DEFAULT, topic(1), record, topic(9, "after")])
    assert set(catalogue.by_name) == {"t", "after"}
    assert catalogue.by_name["t"].partition_count == 1
    assert catalogue.deleted_streams == set()
    assert f"takes no effect: {problem}" in caplog.text


def test_a_name_used_again_is_the_later_topics_and_the_streams_of_the_earlier_one_are_not_dropped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    view = topic(5, "v", view=ViewDefinition(kind="filter", source="t", source_id=UUID(int=1).hex))
    catalogue = replay_all([DEFAULT, topic(1), view, topic(2)])
    assert set(catalogue.by_name) == {"t"}
    assert list(catalogue.by_name["t"].stream_ids()) == [2]
    assert catalogue.deleted_streams == set()
    assert "the deletion of topic 't'" in caplog.text


def test_streams_of_deleted_topics_are_known_until_they_are_dropped() -> None:
    catalogue = replay_all([DEFAULT, topic(1), TopicDeleted(topic_id=UUID(int=1).hex), topic(2)])
    assert catalogue.deleted_streams == {1}
    assert replay_all(catalogue.snapshot()).deleted_streams == {1}


@pytest.mark.parametrize(
    ("records", "vnode_ids", "is_made"),
    [
        ([topic(1)], [1, 0], True),
        ([DEFAULT, topic(1)], [0, 1, 2], False),
        ([], [0, 1], False),
        ([topic(1)], [0, 2], False),
        ([topic(1)], [], False),
    ],
)
def test_a_lost_record_of_the_default_database_is_made_again_from_its_directories(
    records: list[CatalogueRecord], vnode_ids: list[int], is_made: bool
) -> None:
    found = with_default_database(records, vnode_ids, "disk")
    assert found == ([DEFAULT, *records] if is_made else records)
