"""The catalogue: the databases, topics and partitions that exist, with their ids and configs.

A pure state machine.  A change is a record (broker/catalogue/topic_admin.py) that is appended to the `meta`
WAL; here it passes two steps, or one of them and back:

    plan(record) ----> confirm()     the record is durable: clients may rely on it
                 `---> undo()        the record was lost: as if it had never been made

Between the two, a new topic only keeps others from taking its name: records written to it would vanish with
it if the computer failed now.  A start replays durable records in one step.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import starmap
from typing import NamedTuple
from uuid import UUID

from broker.catalogue.acl_table import AclTable
from broker.catalogue.catalogue_records import (
    AclAdded,
    AclRemoved,
    BrokerConfigs,
    CatalogueRecord,
    ClientQuotas,
    DelegationTokenRemoved,
    DelegationTokenSet,
    FeatureLevel,
    GroupConfigs,
    PartitionsAdded,
    PartitionSplit,
    PartitionsRenewed,
    ProducerIdBlock,
    ScramCredentials,
    StreamIdsUsed,
    TopicConfigs,
    TopicCreated,
    TopicDeleted,
    ViewDefinition,
    ViewReloaded,
    VnodesAdded,
)
from broker.catalogue.catalogue_room import CatalogueRoom
from broker.catalogue.database_table import DatabaseRecord, Databases
from broker.catalogue.declaring import DeclaringTopics
from broker.catalogue.quota_table import QuotaTable
from broker.catalogue.reload_plan import plan_reload, plan_topic_configs
from broker.catalogue.security_plan import plan_security
from broker.catalogue.settings_plan import Settings, Told, plan_level, plan_nothing, plan_settings
from broker.catalogue.snapshot_records import SnapshotRecords
from broker.catalogue.split_plan import plan_split
from broker.catalogue.stream_table import StreamTable, runs_of
from broker.catalogue.token_table import TokenTable
from broker.catalogue.topic import (
    AUDIT_TOPIC,
    INTERNAL_TOPICS,
    OFFSETS_TOPIC,
    SHARE_STATE_TOPIC,
    TRANSACTIONS_TOPIC,
    Topic,
)
from broker.config.topic_names import collision_key

__all__ = [
    "AUDIT_TOPIC",
    "INTERNAL_TOPICS",
    "OFFSETS_TOPIC",
    "SHARE_STATE_TOPIC",
    "TRANSACTIONS_TOPIC",
    "Catalogue",
    "Change",
    "Topic",
]


class Change(NamedTuple):
    """A planned change: one of the two is called, once, in the order of the changes' records."""

    confirm: Callable[[], object]
    undo: Callable[[], object]


class Catalogue:
    """All databases and topics of the node; `by_name` and `by_id` hold planned topics too."""

    def __init__(self) -> None:
        self.databases = Databases()
        self.changes = 0  # grows with all that is planned, confirmed or undone: what is derived is made anew
        self.by_name: dict[str, Topic] = {}
        self.by_id: dict[UUID, Topic] = {}
        self.streams: StreamTable[Topic] = StreamTable()
        self.split_topics: dict[str, Topic] = {}  # those with splits
        self._records = SnapshotRecords()
        self.room = CatalogueRoom(self._records)
        self.next_stream = 1
        self.deleted_streams: set[int] = set()  # those that may still be in the logs; only they are dropped
        self.next_producer_id = 0  # every id below it may have been given out
        self.partition_count = 0
        self.partitions_of: Counter[str] = Counter()  # by database; views where they are recorded
        self.collision_names: dict[str, str] = {}  # with '_' for '.', unique as in Kafka's metrics
        self.broker_configs: dict[str, dict[str, str]] = {}  # by node, "": for every one
        self.group_configs: dict[str, dict[str, str]] = {}
        self.scram_credentials: dict[str, dict[str, str]] = {}
        self.acls, self.quotas, self.tokens = AclTable(), QuotaTable(), TokenTable()
        self._config_listeners: list[Callable[[], None]] = []
        self._group_listeners: list[Callable[[str], None]] = []
        self.feature_levels: dict[str, int] = {}  # those that were set
        self.meta_views: Counter[str] = Counter()  # views that show changes of topics, by database
        self.view_count = 0
        self.declaring = DeclaringTopics()
        self._views: dict[bool, dict[str, dict[UUID, Topic]]] = {False: {}, True: {}}  # by topic id, database

    def listen_to_broker_configs(self, listener: Callable[[], None]) -> None:
        """Call `listener()` whenever settings of nodes have changed."""
        self._config_listeners.append(listener)

    def listen_to_group_configs(self, listener: Callable[[str], None]) -> None:
        """Call `listener(group)` whenever settings of a group have changed."""
        self._group_listeners.append(listener)

    def _tell_group(self, group_id: str) -> None:
        for listener in self._group_listeners:
            listener(group_id)

    def _tell_configs(self) -> None:
        for listener in self._config_listeners:
            listener()

    def find(self, name: str) -> Topic | None:
        """Return the topic of that name that clients may use, if there is one."""
        topic = self.by_name.get(name)
        return topic if topic is not None and topic.recorded else None

    def find_id(self, topic_id: UUID) -> Topic | None:
        """Return the topic of that id that clients may use, if there is one."""
        topic = self.by_id.get(topic_id)
        return topic if topic is not None and topic.recorded else None

    @property
    def has_views(self) -> bool:
        """Whether there are views, or were since the start."""
        return any(self._views.values())

    def views_over(self, topic: Topic) -> list[Topic]:
        """Return the views that read the topic, planned ones too, in the order in which they were made."""
        return list(self._views[False].get(topic.topic_id.hex, {}).values())

    def views_over_database(self, name: str) -> list[Topic]:
        """Return the views that read all of the database, planned ones too."""
        return list(self._views[True].get(name, {}).values())

    def replay(self, record: CatalogueRecord) -> None:
        """Apply a durable record; records are facts, so nothing here can fail on a sound log."""
        self.plan(record).confirm()

    def plan(self, record: CatalogueRecord) -> Change:
        """Apply a record as far as is right while it may still be lost."""
        self.changes += 1
        change = self._plan(record)

        def confirm() -> None:
            change.confirm()
            self._records.apply(record)
            self.changes += 1

        def undo() -> None:
            change.undo()
            self.changes += 1

        return Change(confirm, undo)

    def _plan(self, record: CatalogueRecord) -> Change:
        match record:
            case TopicCreated():
                return self._plan_topic(record)
            case PartitionsAdded() | PartitionSplit() | PartitionsRenewed():
                return self._plan_partitions(record)
            case TopicDeleted():
                return self._plan_deletion(self.by_id[UUID(hex=record.topic_id)])
            case TopicConfigs() | ViewReloaded():
                return self._plan_configs(record)
            case BrokerConfigs():
                return self._set(self.broker_configs, record.broker_id, record.configs, self._tell_configs)
            case GroupConfigs():
                tell = partial(self._tell_group, record.group)
                return self._set(self.group_configs, record.group, record.configs, tell)
            case ScramCredentials():
                return self._set(self.scram_credentials, record.user, record.credentials)
            case FeatureLevel():
                return Change(*plan_level(self.feature_levels, record.name, record.level))
            case ProducerIdBlock():
                return Change(lambda: self.reserve_producer_ids(record.next_id), plan_nothing)
            case StreamIdsUsed():
                self.next_stream = max(self.next_stream, record.next_id)
                self.deleted_streams.update(*starmap(_run, record.deleted))
                return Change(plan_nothing, plan_nothing)
            case ClientQuotas() | AclAdded() | AclRemoved() | DelegationTokenSet() | DelegationTokenRemoved():
                return Change(*plan_security(record, self.acls, self.quotas, self.tokens))
            case _:
                return self._plan_database(record)

    def _set(self, table: Settings, name: str, new: dict[str, str], told: Told = plan_nothing) -> Change:
        return Change(*plan_settings(table, name, new, told))

    def _plan_topic(self, record: TopicCreated) -> Change:
        topic = Topic(record)
        assert topic.name not in self.by_name, f"topic {topic.name!r} is created twice"
        self._add(topic)
        if topic.view is None:
            topic.spreads = [self._spread(record.database, record.vnode_count)]
            self.next_stream = max(self.next_stream, record.first_stream + record.partition_count)

        def confirm() -> None:
            topic.recorded = True
            if topic.view is not None:
                # The source may have grown while the view was on its way to the disk, or since.
                self._follow(topic)

        return Change(confirm, lambda: self._remove(topic))

    def _spread(self, database: str, vnode_count: int) -> int:
        """Return over how many vnodes partitions are spread whose record names that number, or 0."""
        known = self.databases.get(database)
        return vnode_count if vnode_count or known is None else known.first_vnode_count

    def _plan_database(self, record: DatabaseRecord) -> Change:
        done, undo = self.databases.plan(record)
        if not isinstance(record, VnodesAdded):
            return Change(done, undo)

        def confirm() -> None:
            done()
            for view in self.views_over_database(record.name):
                self._follow(view)

        return Change(confirm, undo)

    def _plan_partitions(self, record: PartitionsAdded | PartitionSplit | PartitionsRenewed) -> Change:
        if isinstance(record, PartitionsAdded):
            return self._plan_growth(record)
        topic = self.by_id[UUID(hex=record.topic_id)]
        done, unsplit = plan_split(topic, record, self._plan_growth(record.growth))
        reset: Callable[[], None] = plan_nothing
        if isinstance(record, PartitionsRenewed) and record.configs is not None:
            reset = self._put_configs(topic, TopicConfigs(topic_id=record.topic_id, configs=record.configs))

        def confirm() -> None:
            done()
            if self.by_name.get(topic.name) is topic:
                self.split_topics[topic.name] = topic

        def undo() -> None:
            reset()
            unsplit()

        return Change(confirm, undo)

    def _plan_growth(self, record: PartitionsAdded) -> Change:
        topic = self.by_id[UUID(hex=record.topic_id)]
        topic.ranges.append((topic.planned_count, record.first_stream))
        topic.spreads.append(self._spread(topic.database, record.vnode_count))
        self.streams.add_run(topic, topic.planned_count, record.first_stream)
        topic.growth_ends.append(record.ends)
        topic.planned_count += record.count
        self.next_stream = max(self.next_stream, record.first_stream + record.count)
        self._count(topic, record.count)

        def confirm() -> None:
            topic.partition_count += record.count
            for view in self.views_over(topic):
                self._follow(view)

        def undo() -> None:
            topic.ranges.pop()
            topic.spreads.pop()
            self.streams.remove_run(record.first_stream)
            topic.growth_ends.pop()
            topic.planned_count -= record.count
            self._count(topic, -record.count)

        return Change(confirm, undo)

    def _count(self, topic: Topic, added: int) -> None:
        self.partition_count += added
        self.partitions_of[topic.database] += added

    def _follow(self, view: Topic) -> None:
        """Give a view as many partitions as its source has."""
        definition = view.view
        assert definition is not None
        if definition.source_id:
            count = self.by_id[UUID(hex=definition.source_id)].partition_count
        else:
            count = self.databases[definition.source].vnode_count
        self._count(view, count - view.partition_count)
        view.partition_count = view.planned_count = count

    def _plan_deletion(self, topic: Topic) -> Change:
        self._remove(topic)
        return Change(
            # As ranges, 50,000 take 2 ms.
            lambda: self.deleted_streams.update(*starmap(_run, topic.stream_runs())),
            lambda: self._add(topic),
        )

    def _plan_configs(self, record: TopicConfigs | ViewReloaded) -> Change:
        topic = self.by_id[UUID(hex=record.topic_id)]
        if isinstance(record, ViewReloaded):
            return Change(*plan_reload(topic, record, self.meta_views, self.database_of(topic)))
        return Change(plan_nothing, self._put_configs(topic, record))

    def _put_configs(self, topic: Topic, record: TopicConfigs) -> Callable[[], None]:
        """Set a topic's own configs; return what takes them back."""
        _, undo = plan_topic_configs(topic, record)
        self._note_declaring(topic)

        def reset() -> None:
            undo()
            self._note_declaring(topic)

        return reset

    def _note_declaring(self, topic: Topic) -> None:
        if topic.view is None and not topic.internal:
            self.declaring.note(topic, exists=self.by_name.get(topic.name) is topic)

    def reserve_producer_ids(self, next_id: int) -> None:
        """Give out no producer id below `next_id` any more."""
        self.next_producer_id = max(self.next_producer_id, next_id)

    def topic_defaults(self, topic: Topic) -> dict[str, str]:
        """Return the settings of the topic's database, for keys that the topic does not set itself."""
        return self.databases[topic.database].topic_defaults

    def _add(self, topic: Topic) -> None:
        self.by_name[topic.name] = topic
        self._note_declaring(topic)
        self.by_id[topic.topic_id] = topic
        self.streams.add(topic)
        self.collision_names[collision_key(topic.name)] = topic.name
        if topic.tree is not None and topic.tree.splits:
            self.split_topics[topic.name] = topic
        self._count(topic, topic.planned_count)
        if topic.view is not None:
            self.view_count += 1
            by_source, key = self._source_of(topic.view)
            by_source.setdefault(key, {})[topic.topic_id] = topic
            self.meta_views[self.database_of(topic)] += topic.view.meta != "none"

    def database_of(self, topic: Topic) -> str:
        """Return the database that holds the topic's records, or those that a view shows."""
        view = topic.view
        if view is None:
            return topic.database
        return self.by_id[UUID(hex=view.source_id)].database if view.source_id else view.source

    def _source_of(self, view: ViewDefinition) -> tuple[dict[str, dict[UUID, Topic]], str]:
        """Return the table that lists the views over the same source, and their key there."""
        return self._views[not view.source_id], view.source_id or view.source

    def forget(self, topic: Topic) -> None:
        """Remove a topic whose deletion no record tells, so that its streams are kept."""
        self._remove(topic)
        self._records.forget(topic.topic_id.hex)

    def _remove(self, topic: Topic) -> None:
        del self.by_name[topic.name]
        self._note_declaring(topic)
        self.split_topics.pop(topic.name, None)
        del self.by_id[topic.topic_id]
        self.streams.remove(topic)
        self.collision_names.pop(collision_key(topic.name), None)
        self._count(topic, -topic.planned_count)
        if topic.view is not None:
            self.view_count -= 1
            by_source, key = self._source_of(topic.view)
            del by_source[key][topic.topic_id]
            if not by_source[key]:
                del by_source[key]
            self.meta_views[self.database_of(topic)] -= topic.view.meta != "none"

    def snapshot(self) -> list[CatalogueRecord]:
        """Return a short list of records that replays to this catalogue; all changes must be durable."""
        return [
            *self.databases.snapshot(),
            *self._records.all(),
            StreamIdsUsed(next_id=self.next_stream, deleted=runs_of(sorted(self.deleted_streams))),
            ProducerIdBlock(next_id=self.next_producer_id),
        ]


def _run(first: int, count: int) -> range:
    return range(first, first + count)
