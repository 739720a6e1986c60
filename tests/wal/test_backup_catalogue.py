"""The catalogue's records, read from a copy of its log."""

from __future__ import annotations

import pytest

from tests.wal.logs import commit
from tests.wal.stores import open_store
from wal.backup_catalogue import catalogue_records
from wal.memory_disk import MemoryDisk


@pytest.mark.parametrize("snapshot_after", [0, 1, 50, 99])
def test_the_records_are_those_that_a_start_replays(snapshot_after: int) -> None:
    disk = MemoryDisk()
    store = open_store(disk)
    records = [b"record %d " % number * 300 for number in range(100)]
    for number, record in enumerate(records):
        store.catalogue.append(record)
        commit(store.catalogue.log)
        if number == snapshot_after:
            job = store.catalogue.begin_snapshot([b"sum"])
            job.run()
            store.catalogue.snapshot_done(job)
    store.close(0)
    expected = [b"sum", *records[snapshot_after + 1 :]]
    assert catalogue_records(disk, "data/meta") == expected
    assert open_store(disk).catalogue.records == expected


def test_an_empty_log_has_none() -> None:
    disk = MemoryDisk()
    open_store(disk)
    assert catalogue_records(disk, "data/meta") == []
