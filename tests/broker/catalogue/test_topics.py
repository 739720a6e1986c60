"""Replaying catalogue records gives the topics, their streams and ids; a snapshot replays to the same."""

from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseCreated,
    PartitionsAdded,
    ProducerIdBlock,
    StreamIdsUsed,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
    decode_record,
    encode_record,
)
from broker.catalogue.topics import Catalogue


def created(name: str, number: int, *, first_stream: int, partition_count: int) -> TopicCreated:
    return TopicCreated(
        name=name,
        topic_id=UUID(int=number).hex,
        database="default",
        first_stream=first_stream,
        partition_count=partition_count,
        first_vnode=0,
        created_ms=1,
    )


def state(catalogue: Catalogue) -> object:
    return (
        {
            topic.name: (topic.topic_id, list(topic.stream_ids()), topic.configs, topic.first_vnode)
            for topic in catalogue.by_name.values()
        },
        sorted(catalogue.by_id),
        catalogue.next_stream,
        catalogue.next_producer_id,
        catalogue.partition_count,
        catalogue.collision_names,
        list(catalogue.databases.snapshot()),
    )


def test_partitions_added_later_have_streams_of_their_own() -> None:
    catalogue = Catalogue()
    catalogue.replay(created("a", 1, first_stream=1, partition_count=2))
    catalogue.replay(created("b", 2, first_stream=3, partition_count=1))
    catalogue.replay(PartitionsAdded(topic_id=UUID(int=1).hex, first_stream=4, count=2))
    topic = catalogue.by_name["a"]
    assert [topic.stream_id(index) for index in range(4)] == [1, 2, 4, 5]
    assert catalogue.next_stream == 6
    assert catalogue.partition_count == 5


def test_a_deleted_topic_leaves_its_stream_ids_used() -> None:
    catalogue = Catalogue()
    catalogue.replay(created("a", 1, first_stream=1, partition_count=8))
    catalogue.replay(TopicDeleted(topic_id=UUID(int=1).hex))
    restored = Catalogue()
    for record in catalogue.snapshot():
        restored.replay(record)
    assert restored.next_stream == 9
    assert restored.by_name == {}


def test_names_that_differ_in_dots_and_underscores_collide_until_deleted() -> None:
    catalogue = Catalogue()
    catalogue.replay(created("a.b", 1, first_stream=1, partition_count=1))
    assert catalogue.collision_names == {"a_b": "a.b"}
    catalogue.replay(TopicDeleted(topic_id=UUID(int=1).hex))
    assert catalogue.collision_names == {}


def test_new_configs_replace_the_old_ones_and_forget_the_computed_settings() -> None:
    catalogue = Catalogue()
    catalogue.replay(created("a", 1, first_stream=1, partition_count=1))
    topic = catalogue.by_name["a"]
    topic.settings = object()  # type: ignore[assignment]
    catalogue.replay(TopicConfigs(topic_id=UUID(int=1).hex, configs={"retention.ms": "5"}))
    assert topic.configs == {"retention.ms": "5"}
    assert topic.settings is None


@pytest.mark.parametrize(
    "record",
    [
        DatabaseCreated(name="d", vnode_count=2, durability="disk"),
        created("a", 1, first_stream=1, partition_count=1),
        PartitionsAdded(topic_id="0" * 32, first_stream=1, count=1),
        TopicDeleted(topic_id="0" * 32),
        TopicConfigs(topic_id="0" * 32, configs={"k": "v"}),
        ProducerIdBlock(next_id=1000),
        StreamIdsUsed(next_id=7),
    ],
)
def test_every_record_survives_its_bytes(record: CatalogueRecord) -> None:
    assert decode_record(encode_record(record)) == record


@given(
    st.lists(
        st.tuples(
            st.sampled_from(["create", "grow", "delete", "configs"]), st.integers(0, 4), st.integers(1, 5)
        ),
        max_size=30,
    )
)
def test_a_snapshot_replays_to_the_same_catalogue(steps: list[tuple[str, int, int]]) -> None:
    catalogue = Catalogue()
    for number, (what, which, count) in enumerate(steps, start=1):
        name = f"topic-{which}"
        topic = catalogue.by_name.get(name)
        if what == "create" and topic is None:
            catalogue.replay(created(name, number, first_stream=catalogue.next_stream, partition_count=count))
        elif topic is not None and what == "grow":
            catalogue.replay(
                PartitionsAdded(topic_id=topic.topic_id.hex, first_stream=catalogue.next_stream, count=count)
            )
        elif topic is not None and what == "delete":
            catalogue.replay(TopicDeleted(topic_id=topic.topic_id.hex))
        elif topic is not None:
            catalogue.replay(TopicConfigs(topic_id=topic.topic_id.hex, configs={"segment.ms": str(count)}))
    restored = Catalogue()
    for record in catalogue.snapshot():
        restored.replay(decode_record(encode_record(record)))
    assert state(restored) == state(catalogue)
