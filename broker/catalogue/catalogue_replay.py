"""The replay of the catalogue's records at a start, also of a catalogue from which a repair gave up records.

A record whose topic or database is not known any more cannot take effect.  It is skipped with a line in the
log, so that all others do: a topic whose record is lost leaves its streams in the logs, where
`broker/catalogue/orphans.py` finds them.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from uuid import UUID

from broker.catalogue.catalogue_records import (
    CatalogueRecord,
    DatabaseConfigs,
    DatabaseCreated,
    PartitionsAdded,
    PartitionSplit,
    PartitionsRenewed,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
    ViewReloaded,
)
from broker.catalogue.databases import DEFAULT_DATABASE
from broker.catalogue.topics import Catalogue

logger = logging.getLogger("kawal.start")


def replay_all(records: Iterable[CatalogueRecord]) -> Catalogue:
    """Return the catalogue that these records make up, in order."""
    catalogue = Catalogue()
    for record in records:
        if isinstance(record, TopicCreated):
            _free_name(catalogue, record.name)
        problem = _problem(catalogue, record)
        if problem:
            logger.error("a record of the catalogue takes no effect: %s: %s", problem, record)
        else:
            catalogue.replay(record)
    return catalogue


def _free_name(catalogue: Catalogue, name: str) -> None:
    """Forget the topic that has the name of a later one: the record of its deletion is lost."""
    topic = catalogue.by_name.get(name)
    if topic is None:
        return
    logger.error("the deletion of topic %r (id %s) is lost; its name is used again", name, topic.topic_id)
    for view in catalogue.views_over(topic):
        catalogue.forget(view)
    catalogue.forget(topic)


def _problem(catalogue: Catalogue, record: CatalogueRecord) -> str:
    """Return why a record cannot take effect; "" when it can."""
    match record:
        case TopicCreated(view=None):
            return "" if record.database in catalogue.databases else f"no database {record.database!r}"
        case TopicCreated(view=view):
            assert view is not None
            known = view.source_id == "" or UUID(hex=view.source_id) in catalogue.by_id
            return "" if known else f"no topic {view.source!r} for the view to read"
        case (
            PartitionsAdded()
            | PartitionSplit()
            | PartitionsRenewed()
            | TopicDeleted()
            | TopicConfigs()
            | ViewReloaded()
        ):
            topic = catalogue.by_id.get(UUID(hex=record.topic_id))
            if topic is None:
                return "no topic of that id"
            if isinstance(record, ViewReloaded) and topic.view is None:
                return f"topic {topic.name!r} is not a view"
            growth = record.growth if isinstance(record, PartitionSplit | PartitionsRenewed) else record
            if isinstance(growth, PartitionsAdded) and growth.first_partition > topic.planned_count:
                return f"topic {topic.name!r} has only {topic.planned_count} partitions before these"
            return ""
        case DatabaseConfigs():
            return "" if record.name in catalogue.databases else f"no database {record.name!r}"
        case _:
            return ""


def with_default_database(
    records: list[CatalogueRecord], vnode_ids: list[int], durability: str
) -> list[CatalogueRecord]:
    """Return the records with one of the default database before them, when that is the one that was lost.

    `vnode_ids` are the vnodes whose directories are there.  Without other records nothing is added: then the
    whole catalogue is lost.
    """
    known = any(isinstance(record, DatabaseCreated) and record.name == DEFAULT_DATABASE for record in records)
    if known or not records or not vnode_ids or sorted(vnode_ids) != list(range(len(vnode_ids))):
        return records
    logger.error("the record of database %r is lost; it has %d vnodes", DEFAULT_DATABASE, len(vnode_ids))
    made = DatabaseCreated(name=DEFAULT_DATABASE, vnode_count=len(vnode_ids), durability=durability)
    return [made, *records]
