"""The rules for new topics and for more partitions, in Kafka's order of checks.

The functions decide and make catalogue records; they change nothing.  Messages are Kafka's own where a client
may show them to its user.  Source: ReplicationControlManager of Kafka 4.3, checked on the wire with 4.3.1.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from uuid import UUID

import msgspec

from broker.catalogue.assignments import (
    check_follows_source,
    check_growth,
    check_replicas,
    first_vnode_for,
)
from broker.catalogue.catalogue_records import PartitionsAdded, TopicCreated
from broker.catalogue.databases import DEFAULT_DATABASE, Database, no_such_database
from broker.catalogue.guards import check_room, check_view_room
from broker.catalogue.split_rules import check_may_grow, check_name_may_split, splits
from broker.catalogue.topic_configs import checked
from broker.catalogue.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC, Catalogue, Topic
from broker.catalogue.view_admin import (
    check_not_windowed,
    check_partition_count,
    define_view,
    definition_configs,
    is_definition,
    partition_count,
)
from broker.config.config import Config
from broker.config.config_keys import ConfigError
from broker.config.config_layers import ConfigLayers
from broker.config.kawal_topic_keys import DATABASE_KEY
from broker.config.message_keys import is_nonpartitioned
from broker.config.table_keys import with_default
from broker.config.topic_names import collision_key, name_problem
from broker.errors import RequestError
from protocol.error_codes import ErrorCode

if TYPE_CHECKING:
    from random import Random

    from broker.catalogue.nodes import Nodes
    from broker.catalogue.view_drafts import Draft


@dataclass(slots=True, kw_only=True)
class NewTopic:
    """A topic as a client asks for it; -1: the server's default; `assignments`: the client's own placing."""

    name: str
    partition_count: int = -1
    replication_factor: int = -1
    configs: Mapping[str, str | None] = field(default_factory=dict)
    assignments: dict[int, list[int]] = field(default_factory=dict)
    # A partition that the request assigns more than once.
    assigned_twice: int | None = None
    # The statement of a view, if there is one.
    draft: Draft | None = None


def offsets_topic(config: Config) -> NewTopic:
    """Return the topic that holds all groups, as it is made at its first use."""
    return NewTopic(
        name=OFFSETS_TOPIC,
        partition_count=config.offsets_topic_num_partitions,
        replication_factor=1,
        configs={"cleanup.policy": "compact", "segment.bytes": "104857600", "compression.type": "producer"},
    )


def transactions_topic(config: Config) -> NewTopic:
    """Return the topic that holds all transactional ids, as it is made at its first use."""
    return NewTopic(
        name=TRANSACTIONS_TOPIC,
        partition_count=config.transaction_state_log_num_partitions,
        replication_factor=1,
        configs={
            "cleanup.policy": "compact",
            "segment.bytes": "104857600",
            "compression.type": "uncompressed",
        },
    )


def share_state_topic(layers: ConfigLayers) -> NewTopic:
    """Return the topic that holds the progress of share groups, as it is made at its first use.

    Nothing in it expires, nor is it compacted by keys: all changes of a share-partition have the same key.
    """
    count = layers.value("share.coordinator.state.topic.num.partitions")
    assert isinstance(count, int)
    return NewTopic(
        name=SHARE_STATE_TOPIC,
        partition_count=count,
        replication_factor=1,
        configs={
            "cleanup.policy": "delete",
            "retention.ms": "-1",
            "segment.bytes": str(layers.value("share.coordinator.state.topic.segment.bytes")),
            "compression.type": "uncompressed",
        },
    )


def check_name(name: str) -> None:
    """Refuse a name that no topic can have.  Raises: RequestError(INVALID_TOPIC_EXCEPTION)."""
    problem = name_problem(name)
    if problem:
        raise RequestError(ErrorCode.INVALID_TOPIC_EXCEPTION, problem)


def new_topic_record(
    new: NewTopic, *, catalogue: Catalogue, config: Config, nodes: Nodes, random: Random, wall_ms: int
) -> TopicCreated:
    """Return the record that creates the topic.

    Raises: RequestError, with Kafka's code for the first rule that the request breaks.
    """
    ids = nodes.ids
    check_name(new.name)
    _check_free(new.name, catalogue)
    if is_definition(new.configs):
        return _new_view_record(
            new, catalogue=catalogue, config=config, ids=ids, random=random, wall_ms=wall_ms
        )
    check_not_windowed(new.configs)
    configs = _check_configs(new.configs, config)
    check_name_may_split(new.name, configs)
    database = _database(new.configs, catalogue)
    if new.assignments:
        partition_count, replication_factor = _check_assignments(new, ids)
    else:
        # Kafka looks at both numbers before it counts its nodes.
        _check_factor(new.replication_factor)
        partition_count = _partition_count(new.partition_count, config)
        replication_factor = _replication_factor(new.replication_factor, config)
    if partition_count != 1 and is_nonpartitioned(configs):
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"a topic with kawal.nonpartitioned has one partition, and {partition_count} were asked for",
        )
    check_room(partition_count, database.name, catalogue, config)
    record = TopicCreated(
        name=new.name,
        topic_id=UUID(int=random.getrandbits(128), version=4).hex,
        database=database.name,
        first_stream=catalogue.next_stream,
        partition_count=partition_count,
        # Topics begin on different vnodes, so that many small topics spread as well as one large one.
        first_vnode=catalogue.next_stream % database.vnode_count,
        vnode_count=database.spread,
        created_ms=wall_ms,
        replication_factor=replication_factor,
        configs=with_default(new.name, configs, database.configs),
        one_vnode=splits(configs),
    )
    if new.assignments:
        leaders = [new.assignments[index][0] for index in sorted(new.assignments)]
        first = first_vnode_for(leaders, record, database.vnode_count, nodes)
        record = msgspec.structs.replace(record, first_vnode=first)
    return record


def _new_view_record(
    new: NewTopic,
    *,
    catalogue: Catalogue,
    config: Config,
    ids: Collection[int],
    random: Random,
    wall_ms: int,
) -> TopicCreated:
    """Return the record that creates a view: the same checks, and as many partitions as its source has."""
    definition = define_view(new.name, new.configs, catalogue, new.draft)
    count = partition_count(definition, catalogue)
    if new.assignments:
        asked, replication_factor = _check_assignments(new, ids)
        check_follows_source(definition.source, ids)
    else:
        _check_factor(new.replication_factor)
        asked, replication_factor = (
            new.partition_count,
            _replication_factor(new.replication_factor, config),
        )
    check_partition_count(new.name, asked, count, definition.source)
    check_room(count, DEFAULT_DATABASE, catalogue, config)
    check_view_room(catalogue, config)
    return TopicCreated(
        name=new.name,
        topic_id=UUID(int=random.getrandbits(128), version=4).hex,
        database=DEFAULT_DATABASE,
        first_stream=0,
        partition_count=count,
        first_vnode=0,
        created_ms=wall_ms,
        replication_factor=replication_factor,
        configs=definition_configs(definition),
        view=definition,
    )


def _check_free(name: str, catalogue: Catalogue) -> None:
    if name in catalogue.by_name:
        raise RequestError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.")
    other = catalogue.collision_names.get(collision_key(name))
    if other is not None:
        raise RequestError(
            ErrorCode.INVALID_TOPIC_EXCEPTION, f"Topic '{name}' collides with existing topic: {other}"
        )


def _database(asked: Mapping[str, str | None], catalogue: Catalogue) -> Database:
    """Return the database of a new topic."""
    name = (asked.get(DATABASE_KEY.name) or DEFAULT_DATABASE).strip()
    found = catalogue.databases.get(name)
    if found is None or not found.recorded:
        raise RequestError(ErrorCode.INVALID_CONFIG, no_such_database(name, catalogue.databases))
    return found


def _check_configs(asked: Mapping[str, str | None], config: Config) -> dict[str, str]:
    try:
        return checked(asked, config)
    except ConfigError as error:
        raise RequestError(ErrorCode.INVALID_CONFIG, error.for_client) from error


def _check_factor(asked: int) -> None:
    if asked < -1 or asked == 0:
        raise RequestError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            "Replication factor must be larger than 0, or -1 to use the default value.",
        )


def _replication_factor(asked: int, config: Config) -> int:
    if asked == -1:
        asked = config.default_replication_factor
    if asked > 1 and not config.kawal_accept_replication_factor:
        raise RequestError(
            ErrorCode.INVALID_REPLICATION_FACTOR,
            f"Unable to replicate the partition {asked} time(s): The target replication factor of {asked}"
            " cannot be reached because only 1 broker(s) are registered."
            " To accept it all the same, set kawal.accept.replication.factor=true on the server.",
        )
    return asked


def _partition_count(asked: int, config: Config) -> int:
    if asked == -1:
        return config.num_partitions
    if asked <= 0:
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"Number of partitions was set to an invalid non-positive value: {asked}.",
        )
    return asked


def _check_assignments(new: NewTopic, ids: Collection[int]) -> tuple[int, int]:
    if new.replication_factor != -1:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but replication factor was not set to -1.",
        )
    if new.partition_count != -1:
        raise RequestError(
            ErrorCode.INVALID_REQUEST,
            "A manual partition assignment was specified, but numPartitions was not set to -1.",
        )
    if new.assigned_twice is not None:
        raise RequestError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"Found multiple manual partition assignments for partition {new.assigned_twice}",
        )
    check_replicas(new.assignments.values(), ids)
    for number, index in enumerate(sorted(new.assignments)):
        if number != index:
            raise RequestError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                "partitions should be a consecutive 0-based integer sequence",
            )
    return len(new.assignments), len(next(iter(new.assignments.values())))


def growth_record(
    topic: Topic,
    count: int,
    assignments: list[list[int]] | None,
    *,
    catalogue: Catalogue,
    config: Config,
    nodes: Nodes,
) -> PartitionsAdded:
    """Return the record that makes the topic have `count` partitions in all.

    Raises: RequestError, with 37 when it has as many or more, with 39 for assignments that do not fit.
    """
    added = count - topic.planned_count
    if added > 0:
        check_may_grow(topic)
    if added < 0:
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"The topic {topic.name} currently has {topic.planned_count} partition(s);"
            f" {count} would not be an increase.",
        )
    if added == 0:
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS, f"Topic already has {topic.planned_count} partition(s)."
        )
    if is_nonpartitioned(topic.configs):
        raise RequestError(
            ErrorCode.INVALID_PARTITIONS,
            f"topic {topic.name} has kawal.nonpartitioned, and keeps its one partition",
        )
    if assignments is not None:
        if len(assignments) != added:
            raise RequestError(
                ErrorCode.INVALID_REPLICA_ASSIGNMENT,
                f"Attempted to add {added} additional partition(s), but only {len(assignments)}"
                " assignment(s) were specified.",
            )
        check_replicas(assignments, nodes.ids)
        database = catalogue.databases[topic.database]
        leaders = [replicas[0] for replicas in assignments]
        check_growth(topic, leaders, database.spread or database.vnode_count, nodes)
    check_room(added, topic.database, catalogue, config)
    return PartitionsAdded(
        topic_id=topic.topic_id.hex,
        first_stream=catalogue.next_stream,
        count=added,
        first_partition=topic.planned_count,
        vnode_count=catalogue.databases[topic.database].spread,
    )
