"""A database restored from a running server: records and changes, read through a view WITH META.

Each partition of the view is one vnode, read from its first version to the end that it has now.  Changes of
topics stand on every vnode, in one order; the first vnode that tells one decides.  A topic whose creation is
not in the log any more, as retention has deleted it, is made as it is now, and at the end all topics are made
to be as they are now.

It is read again from there, until nothing has come meanwhile.  Compacted topics are read themselves: of their
records the view shows only those that lie where they were first written.  Then views (view_copies.py) and, on
another server, groups with their progress (group_copies.py) are made again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from broker.catalogue.catalogue_changes import KIND_HEADER
from broker.config.kawal_topic_keys import COLUMNS_KEY
from broker.config.table_keys import declares_tables
from broker.view_topics.stream_owners import OFFSET_HEADER, PARTITION_HEADER, TOPIC_HEADER
from console import database_admin
from console.admin import describe_cluster
from console.errors import CommandError
from console.restoring.equality import check_equal, is_restored
from console.restoring.group_copies import GroupCopies, Place
from console.restoring.table_copies import as_stored, check_tables, missing_tags
from console.restoring.topic_copies import TopicCopies, own_configs
from console.restoring.view_copies import STORED, TEMPORARY, ViewCopies, views_of
from console.sql.records import read_all, read_view_batches
from console.sql.session import Session
from console.sql.topic_requests import checked, create_topic, delete_topic
from protocol.messages.kawal_databases import DatabaseAction, DatabaseResult
from protocol.messages.kawal_topics import TopicResult
from protocol.record_reader import Headers, Record, iter_records
from protocol.records import read_batch_header

PLACES: Final = frozenset({TOPIC_HEADER, PARTITION_HEADER, OFFSET_HEADER})
INTERNAL: Final = "__"

ROUNDS_MAX: Final = 10
"""The times that the view is read on, while records keep coming."""


class Order(NamedTuple):
    """The restore that is asked for."""

    source: str
    """The name of the database, on the server that has it."""
    target: str
    """The name of the copy."""
    prefix: str = ""
    """Put before the names of topics."""
    skips_restored: bool = False
    """Leave out records that were restored from elsewhere."""
    checks: bool = True


class Outcome(NamedTuple):
    """The result of a restore."""

    topics: int
    records: int
    changes: int
    checked: int
    """The records, of compacted topics the keys, that were compared with the copy."""
    views: int
    groups: int
    left_out: dict[str, str]
    """Views and groups that the copy does not have, or not with all of their progress, with the reasons."""
    tables: int
    """The sub-tables, declared by records, that were compared with the copy."""


class DatabaseRestore:
    """One database on its way to another server, or to another database of the same one."""

    def __init__(self, source: Session, target: Session, order: Order) -> None:
        self._source = source
        self._target = target
        self._order = order
        self._view = f"{TEMPORARY}{order.source}.{source.now_ms()}"
        origin = f"{describe_cluster(source.bootstrap).cluster_id}/{order.source}".encode()
        self._copies = TopicCopies(target, order.target, prefix=order.prefix, origin=origin)
        self._told: set[bytes] = set()
        self._changes = 0
        self._now: dict[str, TopicResult] = {}
        self._views: dict[str, TopicResult] = {}
        self._configs: dict[str, dict[str, str]] = {}

    def run(self) -> Outcome:
        """Restore the database and check the copy.  Raises: CommandError."""
        vnodes = self._make_database()
        self._look()
        self._check_free()
        sql = f"DATABASE `{self._order.source}` WITH META"
        checked(create_topic(self._source, self._view, {"kawal.sql": sql}), self._view)
        positions = [0] * vnodes
        try:
            self._replay_all(positions)
        finally:
            delete_topic(self._source, self._view)
        self._look()
        self._bring_up_to_date()
        for name in self._compacted():
            self._copy_compacted(name)
        self._copies.flush()
        found = self._check() if self._order.checks else 0
        tables = self._check_tables(positions) if self._order.checks else 0
        views = ViewCopies(self._source, self._target)
        views.make(self._views.values(), same_names=self._same_names)
        groups = GroupCopies(self._source, self._target, self._offset_in_copy)
        if self._source.bootstrap != self._target.bootstrap and not self._order.prefix:
            groups.make({*self._now, *views.made})
        return Outcome(
            len(self._now), self._copies.records, self._changes, found, len(views.made), len(groups.made),
            views.left_out | groups.left_out, tables,
        )  # fmt: skip

    @property
    def _same_names(self) -> bool:
        return not self._order.prefix and self._order.source == self._order.target

    def _offset_in_copy(self, place: Place, offset: int) -> int | None:
        """Return the offset of a topic or view in the copy; None if the view's offsets are versions."""
        name, partition = place
        view = self._views.get(name)
        if view is not None and (view.meta != "none" or view.kind == "database"):
            return None
        offsets = self._copies.offsets.get((name if view is None else view.source, partition))
        return 0 if offsets is None else offsets.before(offset)

    # --- before ----------------------------------------------------------------------------------------

    def _make_database(self) -> int:
        """Create the database if it does not exist; return the number of vnodes of the one to restore."""
        order = self._order
        (here,) = _databases(self._source, order.source)
        (there,) = _databases(self._target, order.target)
        database_admin.found([here])
        if there.error_code:
            settings: dict[str, str | None] = {
                setting.name: setting.value for setting in here.settings if not setting.is_default
            }
            settings["vnodes"] = str(here.vnodes)
            made = database_admin.do(self._target.bootstrap, DatabaseAction.CREATE, [order.target], settings)
            database_admin.told(made, "created", {})
        return here.vnodes

    def _look(self) -> None:
        """Note the topics that the database has now, with their configurations, and the views over it."""
        topics = self._source.topics()
        self._views = {view.name: view for view in views_of(topics, self._order.source)}
        self._now = {
            topic.name: topic
            for topic in topics
            if topic.database == self._order.source
            and topic.kind == STORED
            and not topic.name.startswith(INTERNAL)
        }
        self._configs = {name: own_configs(self._source, name) for name in self._now}

    def _check_free(self) -> None:
        """Refuse to write into topics that exist.  Raises: CommandError."""
        names = [self._copies.name_of(name) for name in self._now]
        names += self._views if self._same_names else []
        taken = [found.name for found in self._target.topics(names) if not found.error_code] if names else []
        if taken:
            raise CommandError(
                f"{self._target.bootstrap} has topics of these names already: {', '.join(taken[:5])}; drop"
                " them, or give the copy's topics other names with --prefix"
            )

    def _compacted(self) -> list[str]:
        return [name for name in self._now if "compact" in self._configs[name].get("cleanup.policy", "")]

    # --- records and changes ---------------------------------------------------------------------------

    def _replay_all(self, positions: list[int]) -> None:
        """Replay the vnodes from these versions on, again as long as more comes."""
        for _ in range(ROUNDS_MAX):
            before = positions[:]
            for vnode in range(len(positions)):
                for batch in read_view_batches(self._source, self._view, vnode, positions[vnode]):
                    self._replay(batch)
                    positions[vnode] = read_batch_header(batch).last_offset + 1
                self._copies.flush()
            if positions == before:
                return
            self._look()

    def _replay(self, batch: memoryview) -> None:
        compacted = set(self._compacted())
        for record in iter_records(batch):
            if KIND_HEADER in record.headers:
                self._change(record.value or b"")
                continue
            places = {name: value for name, value in record.headers if name in PLACES}
            topic = (places[TOPIC_HEADER] or b"").decode()
            if topic in compacted or topic not in self._now:
                continue
            self._make_if_missing(topic)
            offset, partition = int(places[OFFSET_HEADER] or b""), int(places[PARTITION_HEADER] or b"")
            self._copies.grow(topic, partition + 1)
            shown = as_stored(record, PLACES)
            columns = self._configs[topic].get(COLUMNS_KEY.name)
            tags = missing_tags(shown, columns) if columns else ()
            self._add(topic, partition, shown.record, offset, tags)

    def _add(self, topic: str, partition: int, record: Record, offset: int, tags: Headers = ()) -> None:
        if self._order.skips_restored and is_restored(record):
            return
        self._copies.add(topic, partition, record, offset, tags)

    def _make_if_missing(self, topic: str) -> None:
        if topic not in self._copies.partitions:
            self._copies.make(topic, self._now[topic].partitions, self._configs[topic])

    def _change(self, value: bytes) -> None:
        """Do what a change says, unless another vnode has told it."""
        if value in self._told:
            return
        self._told.add(value)
        self._changes += 1
        told: dict[str, Any] = json.loads(value)
        topic, kind = told["topic"], told["type"]
        made = topic in self._copies.partitions
        if kind == "create" and not made:
            self._copies.make(topic, told["partitions"], told["configs"])
        elif kind == "drop" and made:
            self._copies.drop(topic)
        elif kind == "grow" and made:
            self._copies.grow(topic, told["partitions"])
        elif kind == "alter" and made:
            self._copies.alter(topic, told["configs"])
        elif kind == "delete" and made:
            self._copies.delete_before(topic, told["partition"], told["before"])

    def _bring_up_to_date(self) -> None:
        """Make the topics of the copy as those of the database are now."""
        for topic in [topic for topic in self._copies.partitions if topic not in self._now]:
            self._copies.drop(topic)
        for topic, now in self._now.items():
            self._make_if_missing(topic)
            self._copies.grow(topic, now.partitions)
            self._copies.alter(topic, self._configs[topic])

    def _copy_compacted(self, topic: str) -> None:
        for partition in range(self._now[topic].partitions):
            for record in read_all(self._source, topic, partition):
                self._add(topic, partition, record, record.offset)

    # --- after -----------------------------------------------------------------------------------------

    def _check(self) -> int:
        """Compare all partitions; return the number of records.  Raises: CommandError."""
        compacted = set(self._compacted())
        return sum(self._check_one(place, compacted) for place in self._places())

    def _check_tables(self, positions: list[int]) -> int:
        """Compare the sub-tables that records declare; return their number.  Raises: CommandError."""
        if self._order.skips_restored:
            return 0  # the tables of records that were left out are not in the copy
        compacted = self._compacted()
        declaring = {
            name
            for name, configs in self._configs.items()
            if declares_tables(configs) and name not in compacted
        }
        here = self._source, self._order.source, positions
        there = self._target, self._order.target
        return check_tables(here, there, self._view, declaring, self._copies.name_of)

    def _places(self) -> Iterator[tuple[str, int]]:
        for name, topic in self._now.items():
            for partition in range(topic.partitions):
                yield name, partition

    def _check_one(self, place: tuple[str, int], compacted: set[str]) -> int:
        name, partition = place
        offsets = self._copies.offsets.get(place)
        return check_equal(
            self._source,
            self._target,
            (name, self._copies.name_of(name), partition),
            # Records that came later are not in the copy.
            end=0 if offsets is None else offsets.next_source,
            compacted=name in compacted,
            dated=self._configs[name].get("message.timestamp.type") != "LogAppendTime",
            skips_restored=self._order.skips_restored,
        )


def _databases(session: Session, name: str) -> list[DatabaseResult]:
    return database_admin.do(session.bootstrap, DatabaseAction.DESCRIBE, [name])
