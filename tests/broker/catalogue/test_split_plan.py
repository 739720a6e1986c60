"""A split in the catalogue: planned, durable or lost, and the same after a snapshot."""

from __future__ import annotations

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseCreated,
    PartitionsAdded,
    PartitionSplit,
    PartitionsRenewed,
    TopicConfigs,
    TopicCreated,
    decode_record,
    encode_record,
)
from broker.catalogue.catalogue_replay import replay_all
from broker.catalogue.split_plan import split_of, splits_of, tree_of
from broker.catalogue.topics import Catalogue
from groups.partition_tree import PartitionTree, Split

TOPIC_ID = "0" * 31 + "1"

MADE: list[CatalogueRecord] = [
    DatabaseCreated(name="default", vnode_count=2, durability="disk"),
    TopicCreated(
        name="t",
        topic_id=TOPIC_ID,
        database="default",
        first_stream=1,
        partition_count=2,
        first_vnode=1,
        created_ms=0,
        vnode_count=2,
        one_vnode=True,
        configs={"kawal.partition.autosplit.mode": "up"},
    ),
]


def record(parent: int, child: int, bound: int = 1 << 20) -> PartitionSplit:
    growth = PartitionsAdded(
        topic_id=TOPIC_ID, first_stream=1 + child, count=1, first_partition=child, vnode_count=2
    )
    return PartitionSplit(topic_id=TOPIC_ID, growth=growth, parent=parent, cut=7, bound=bound, at_ms=5)


def shape(catalogue: Catalogue) -> tuple[object, ...]:
    topic = catalogue.by_name["t"]
    tree = topic.tree
    return (
        topic.partition_count,
        topic.planned_count,
        topic.ranges,
        [topic.vnode_index(index) for index in range(topic.planned_count)],
        None if tree is None else (tree.splits, tree.pending),
        sorted(catalogue.split_topics),
        catalogue.partition_count,
    )


def test_a_planned_split_gives_no_partition_to_clients_and_is_told_to_writers() -> None:
    catalogue = replay_all(MADE)
    catalogue.plan(record(1, 2))
    topic = catalogue.by_name["t"]
    assert (topic.partition_count, topic.planned_count) == (2, 3)
    assert topic.tree is not None
    assert topic.tree.pending == split_of(record(1, 2))
    assert topic.tree.splits == []


def test_a_lost_split_leaves_no_trace() -> None:
    catalogue = replay_all(MADE)
    before = shape(catalogue)
    catalogue.plan(record(1, 2)).undo()
    assert shape(catalogue) == before


def test_a_second_split_that_is_lost_leaves_the_first() -> None:
    catalogue = replay_all([*MADE, record(1, 2)])
    before = shape(catalogue)
    catalogue.plan(record(2, 3, 1 << 21)).undo()
    assert shape(catalogue) == before


def test_splits_are_the_same_after_replay_and_after_a_snapshot() -> None:
    records = [*MADE, record(1, 2), record(0, 3), record(2, 4, 1 << 21)]
    catalogue = replay_all([decode_record(encode_record(found)) for found in records])
    assert catalogue.by_name["t"].partition_count == 5
    assert shape(replay_all(catalogue.snapshot())) == shape(catalogue)
    assert shape(catalogue)[3] == [1] * 5


def test_a_topic_without_splits_has_its_partitions_as_roots() -> None:
    catalogue = replay_all(MADE)
    assert tree_of(catalogue.by_name["t"]).root_count == 2
    tree = PartitionTree(2)
    catalogue.by_name["t"].tree = tree
    assert tree_of(catalogue.by_name["t"]) is tree


def test_a_deleted_topic_is_no_topic_with_splits() -> None:
    catalogue = replay_all([*MADE, record(1, 2)])
    topic = catalogue.by_name["t"]
    assert catalogue.split_topics == {"t": topic}
    catalogue.forget(topic)
    assert catalogue.split_topics == {}


def renewed(configs: dict[str, str] | None = None) -> PartitionsRenewed:
    growth = PartitionsAdded(topic_id=TOPIC_ID, first_stream=3, count=2, first_partition=2, vnode_count=2)
    return PartitionsRenewed(topic_id=TOPIC_ID, growth=growth, cuts=(7, 0), at_ms=5, configs=configs)


def test_a_renewal_gives_each_partition_a_successor_and_the_topic_its_settings() -> None:
    configs = {"kawal.partition.autosplit.mode": "paused"}
    catalogue = replay_all([*MADE, decode_record(encode_record(renewed(configs))), record(2, 4)])
    topic = catalogue.by_name["t"]
    assert topic.configs == configs
    assert topic.tree is not None
    assert topic.tree.splits == [Split(0, 2, 7, 0, 5), Split(1, 3, 0, 0, 5), split_of(record(2, 4))]
    assert topic.tree.successions == topic.tree.splits[:2] == list(splits_of(renewed()))


def test_a_lost_renewal_leaves_no_trace() -> None:
    catalogue = replay_all(MADE)
    before, configs = shape(catalogue), catalogue.by_name["t"].configs
    catalogue.plan(renewed({"kawal.partition.autosplit.mode": "paused"})).undo()
    assert (shape(catalogue), catalogue.by_name["t"].configs) == (before, configs)


def test_a_snapshot_of_a_renewed_topic_has_its_newest_settings() -> None:
    newer = TopicConfigs(
        topic_id=TOPIC_ID, configs={"kawal.partition.autosplit.mode": "up", "segment.ms": "9"}
    )
    catalogue = replay_all([*MADE, renewed({"kawal.partition.autosplit.mode": "paused"}), newer])
    again = replay_all(catalogue.snapshot())
    assert shape(again) == shape(catalogue)
    assert again.by_name["t"].configs == newer.configs
