"""The disk work for databases: a vnode is made, and made again after a crash, without harm."""

from __future__ import annotations

from broker.catalogue.catalogue_records import DatabaseCreated
from broker.catalogue.database_jobs import MakeJob, RemoveJob, SplitJob
from broker.catalogue.databases import Database
from tests.broker.gateway import START_MS, Gateway
from wal.options import LogOptions

RECORD = DatabaseCreated(name="d", vnode_count=2, durability="disk", directory="db-1")


def nothing(_: object) -> None:
    """Take the outcome."""


def test_a_database_is_made_split_twice_the_same_and_removed() -> None:
    gateway = Gateway()
    store = gateway.broker.store
    made = MakeJob(store, RECORD, range(2), range(2), LogOptions(), START_MS, nothing)
    made.run()
    assert len(made.logs) == 2
    for _ in range(2):
        # The second one finds what the first one has left, which no record knows.
        split = SplitJob(store, Database(RECORD), 2, True, True, LogOptions(), START_MS, nothing)
        split.run()
        assert split.log is not None
        assert split.log.next_version == 0
        split.log.abandon()
    assert [path for path in gateway.disk.files() if "/db-1/vnode-2/" in path]
    for log in made.logs:
        log.abandon()
    RemoveJob(store, "db-1").run()
    assert not [path for path in gateway.disk.files() if "/db-1/" in path]
