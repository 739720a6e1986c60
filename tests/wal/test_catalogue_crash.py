"""Every crash state of catalogue changes and of making a store: old or new, no mix, no second store."""

from __future__ import annotations

from tests.wal.crash import CrashState, RecordingDisk, check_every_crash, killed_states
from tests.wal.logs import batch, commit, maintain, read_all
from tests.wal.stores import IDENTITY, open_store
from wal.disk import Disk
from wal.log import VnodeLog
from wal.options import LogOptions
from wal.store import Store
from wal.store_marker import StoreIdentity

OTHER = StoreIdentity(cluster_id="second", node_id=2, secret="00")
OPTIONS = LogOptions(
    min_free_bytes=0, segment_bytes=4 << 10, checkpoint_ns=60_000, seal_interval_ms=0, witness_ms=0
)


def changed_catalogue(disk: RecordingDisk) -> list[bytes]:
    """Give a store 30 catalogue records, with a snapshot after every 10; return the records."""
    store = open_store(disk, options=OPTIONS)
    disk.trace.mark(0)
    catalogue, now_ms = store.catalogue, 0
    records: list[bytes] = []
    for number in range(30):
        now_ms += 150
        records.append(b"record %d " % number * (number % 7 + 1))
        catalogue.append(records[-1])
        commit(catalogue.log, now_ms)
        disk.trace.mark(number + 1)
        if number % 10 == 9:
            job = catalogue.begin_snapshot([b"|".join(records)])
            job.run()
            catalogue.snapshot_done(job)
            commit(catalogue.log, now_ms)
        commit(catalogue.log, now_ms + 120)
        maintain(catalogue.log, now_ms + 120)
    store.close(now_ms)
    return records


def promised(state: CrashState) -> int | None:
    """Return the number of acknowledged records; None before the store was made."""
    return int(str(state.marks[-1])) if state.marks else None


def check_records(disk: Disk, records: list[bytes], count: int | None) -> Store:
    store = open_store(disk, identity=OTHER, options=OPTIONS)
    assert count is None or store.identity == IDENTITY, "a store was made anew"
    found = b"|".join(store.catalogue.records).split(b"|") if store.catalogue.records else []
    assert found == records[: len(found)]
    assert len(found) >= (count or 0)
    return store


def test_no_crash_state_loses_a_catalogue_record_or_makes_the_store_anew() -> None:
    disk = RecordingDisk()
    records = changed_catalogue(disk)

    def check(state: CrashState) -> None:
        check_records(state.disk, records, promised(state))

    assert check_every_crash(disk.trace, check) > 2_000


def test_what_a_restarted_store_shows_survives_the_next_power_cut() -> None:
    disk = RecordingDisk()
    records = changed_catalogue(disk)

    for state in killed_states(disk.trace):
        store = check_records(state.disk, records, promised(state))
        shown = len(b"|".join(store.catalogue.records).split(b"|")) if store.catalogue.records else 0
        after = state.disk.crash()
        check_records(after, records, shown if state.marks else None)


def test_snapshots_let_old_catalogue_segments_go() -> None:
    disk = RecordingDisk()
    changed_catalogue(disk)

    assert "00000000000000000000.wal" not in disk.list("data/meta")


def test_a_vnode_that_was_made_is_there_after_every_crash() -> None:
    disk = RecordingDisk()
    store = open_store(disk, options=OPTIONS)
    store.create_vnode("db", 0)
    disk.trace.mark("made")
    log = store.open_vnode("db", 0, now_ms=0)
    data = batch(body=b"hello")
    log.append(1, data)
    commit(log)
    disk.trace.mark("acknowledged")

    def check(state: CrashState) -> None:
        again = open_store(state.disk, identity=OTHER, options=OPTIONS)
        if "made" in state.marks:
            found: VnodeLog = again.open_vnode("db", 0, now_ms=0)
            stored = read_all(found, 1)
            assert stored == bytes(data) or (not stored and "acknowledged" not in state.marks)

    assert check_every_crash(disk.trace, check) > 100
