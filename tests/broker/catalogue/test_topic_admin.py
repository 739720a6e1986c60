"""CreateTopics and CreatePartitions refuse what Kafka refuses, with its codes and in its order."""

from random import Random

import pytest

from broker.catalogue.catalogue_records import DatabaseCreated, TopicCreated
from broker.catalogue.nodes import Nodes
from broker.catalogue.topic_admin import NewTopic, growth_record, new_topic_record
from broker.catalogue.topics import Catalogue
from broker.config.config import Config
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

CONFIG = Config()
NODES = Nodes(CONFIG.node_id)


def catalogue_with_default() -> Catalogue:
    catalogue = Catalogue()
    catalogue.replay(DatabaseCreated(name="default", vnode_count=2, durability="disk"))
    return catalogue


def catalogue_with(*names: str) -> Catalogue:
    catalogue = catalogue_with_default()
    for name in names:
        catalogue.replay(make(NewTopic(name=name, partition_count=2), catalogue))
    return catalogue


def make(new: NewTopic, catalogue: Catalogue, config: Config = CONFIG) -> TopicCreated:
    return new_topic_record(
        new,
        catalogue=catalogue,
        config=config,
        nodes=NODES,
        random=Random(len(catalogue.by_name)),
        wall_ms=9,
    )


def refusal(new: NewTopic, *existing: str, config: Config = CONFIG) -> tuple[ErrorCode, str]:
    with pytest.raises(RequestError) as refused:
        make(new, catalogue_with(*existing), config)
    return refused.value.code, refused.value.message or ""


def test_defaults_come_from_the_configuration() -> None:
    record = make(NewTopic(name="t"), catalogue_with_default())
    assert (record.partition_count, record.replication_factor, record.first_stream) == (4, 1, 1)
    assert record.created_ms == 9


def test_topics_begin_on_different_vnodes_and_never_share_streams() -> None:
    catalogue = catalogue_with("a", "b", "c")
    streams = [stream for topic in catalogue.by_name.values() for stream in topic.stream_ids()]
    assert streams == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    ("new", "code", "part"),
    [
        (NewTopic(name="a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION, "a/b"),
        (NewTopic(name="old"), ErrorCode.TOPIC_ALREADY_EXISTS, "'old' already exists"),
        (NewTopic(name="o_d"), ErrorCode.INVALID_TOPIC_EXCEPTION, "collides with existing topic: o.d"),
        (NewTopic(name="t", partition_count=0), ErrorCode.INVALID_PARTITIONS, "non-positive"),
        (NewTopic(name="t", partition_count=-2), ErrorCode.INVALID_PARTITIONS, "non-positive"),
        (NewTopic(name="t", replication_factor=0), ErrorCode.INVALID_REPLICATION_FACTOR, "larger than 0"),
        (NewTopic(name="t", replication_factor=3), ErrorCode.INVALID_REPLICATION_FACTOR, "kawal.accept"),
        (
            NewTopic(name="t", replication_factor=0, partition_count=0),
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "larger than 0",
        ),
        (
            NewTopic(name="t", replication_factor=3, partition_count=0),
            ErrorCode.INVALID_PARTITIONS,
            "non-positive",
        ),
        (NewTopic(name="t", configs={"retention.m": "1"}), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (NewTopic(name="t", configs={"retention.ms": "x"}), ErrorCode.INVALID_CONFIG, "retention.ms"),
        (
            NewTopic(name="t", partition_count=2, assignments={0: [1]}),
            ErrorCode.INVALID_REQUEST,
            "numPartitions was not set to -1",
        ),
        (
            NewTopic(name="t", replication_factor=1, assignments={0: [1]}),
            ErrorCode.INVALID_REQUEST,
            "replication factor was not set to -1",
        ),
        (NewTopic(name="t", assignments={1: [1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "consecutive"),
        (NewTopic(name="t", assignments={0: [7]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "broker 7"),
        (NewTopic(name="t", assignments={0: [1, 1]}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "more than once"),
        (NewTopic(name="t", assignments={0: []}), ErrorCode.INVALID_REPLICA_ASSIGNMENT, "empty replica list"),
        (NewTopic(name="t", partition_count=200_001), ErrorCode.POLICY_VIOLATION, "kawal.max.partitions"),
    ],
)
def test_a_bad_topic_is_refused_with_kafkas_code(new: NewTopic, code: ErrorCode, part: str) -> None:
    seen, message = refusal(new, "old", "o.d")
    assert seen == code
    assert part in message


def test_a_replication_factor_is_accepted_when_the_switch_says_so() -> None:
    config = Config(kawal_accept_replication_factor=True)
    assert (
        make(NewTopic(name="t", replication_factor=3), catalogue_with_default(), config).replication_factor
        == 3
    )


def test_explicit_assignments_count_the_partitions() -> None:
    record = make(NewTopic(name="t", assignments={1: [1], 0: [1]}), catalogue_with_default())
    assert (record.partition_count, record.replication_factor) == (2, 1)


def test_growth_takes_new_streams() -> None:
    catalogue = catalogue_with("a", "b")
    record = growth_record(catalogue.by_name["a"], 5, None, catalogue=catalogue, config=CONFIG, nodes=NODES)
    assert (record.first_stream, record.count) == (5, 3)


@pytest.mark.parametrize(
    ("count", "assignments", "code"),
    [
        (1, None, ErrorCode.INVALID_PARTITIONS),
        (2, None, ErrorCode.INVALID_PARTITIONS),
        (3, [], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (3, [[9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (200_002, None, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_bad_growth_is_refused(count: int, assignments: list[list[int]] | None, code: ErrorCode) -> None:
    catalogue = catalogue_with("a")
    with pytest.raises(RequestError) as refused:
        growth_record(
            catalogue.by_name["a"], count, assignments, catalogue=catalogue, config=CONFIG, nodes=NODES
        )
    assert refused.value.code == code
