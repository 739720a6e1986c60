"""Past moments of a copy: each that is kept can be restored as it was, and nothing else stays."""

from __future__ import annotations

from random import Random

import pytest

from tests.wal.remote.copies import Node, bodies
from tests.wal.stores import OPTIONS, open_store
from wal.backup_manifest import BackupError
from wal.memory_disk import MemoryDisk
from wal.memory_image import DROP_ALL
from wal.memory_objects import MemoryObjects, ObjectCall, ObjectFault
from wal.objects import ObjectStoreError
from wal.remote.formats import CUTS, past_cut_name, time_of
from wal.remote.restore import RemoteRestore
from wal.remote.uploader import HISTORY_EVERY_MS, Uploader

HISTORY_MS = 10 * HISTORY_EVERY_MS


def with_history(objects: MemoryObjects, *, disk: MemoryDisk | None = None, incarnation: str = "a") -> Node:
    """Return a node that keeps past cuts."""
    node = Node(objects, disk=disk, incarnation=incarnation)
    node.uploader = Uploader(
        objects, node.disk, path="data", identity=node.store.identity, incarnation=incarnation,
        delete_delay_ms=1_000, history_ms=HISTORY_MS,
    )  # fmt: skip
    return node


def restored_at(objects: MemoryObjects, at_ms: int) -> list[bytes]:
    """Return the bodies in a directory restored as of a moment."""
    disk = MemoryDisk()
    for _ in RemoteRestore(objects, disk, cluster_id="cluster", data="data", at_ms=at_ms).run():
        pass
    log = open_store(disk).open_vnode("default", 0, now_ms=0, options=OPTIONS)
    assert log.state == "OPEN", log.damage
    return bodies(log)


def test_names_of_past_cuts_tell_their_time_and_sort_by_it() -> None:
    names = [past_cut_name(time_ms, 5, 1) for time_ms in (9, 10, 1_700_000_000_000)]
    assert names == sorted(names)
    assert [time_of(name) for name in names] == [9, 10, 1_700_000_000_000]
    assert time_of("default/vnode-0/seg/1-2") is None


def test_a_moment_before_records_were_deleted_is_restored_with_them() -> None:
    node = with_history(MemoryObjects())
    written = [b"y" * 20_000 + b"%d" % number for number in range(12)]
    node.append(*written)
    node.round()
    before_ms = node.now_ms
    node.now_ms += HISTORY_EVERY_MS
    node.log.set_log_start(7, 10)
    node.commit(node.log)
    for _ in range(2):
        node.log.storage[1].checkpoint_wanted = True
        node.commit(node.log)
    assert node.log.retire_segments() > 2
    node.commit(node.log)
    node.round()
    node.uploader.sweep(node.now_ms)
    node.uploader.clean(node.now_ms, count=1_000)
    assert restored_at(node.objects, before_ms) == written
    assert restored_at(node.objects, node.now_ms) == written[10:]


def test_a_moment_that_is_not_kept_is_told_with_the_oldest_one_that_is() -> None:
    node = with_history(MemoryObjects())
    node.now_ms = 1_700_000_000_000
    node.append(b"x")
    node.round()
    with pytest.raises(BackupError, match=r"no cut of 2023-11-14T22:13:19.* the oldest one is of 2023"):
        restored_at(node.objects, 1_700_000_000_000 - 1_000)


def test_without_the_setting_no_past_cut_is_kept() -> None:
    node = Node(MemoryObjects())
    node.append(b"x")
    node.round()
    assert not [key for key in node.objects.objects if f"/{CUTS}/" in key]
    with pytest.raises(BackupError, match="none is; a server keeps them"):
        restored_at(node.objects, -1)


@pytest.mark.parametrize("seed", range(12))
def test_every_past_cut_restores_its_moment_through_faults_crashes_and_sweeps(seed: int) -> None:
    random = Random(seed)
    rate = 0.0

    def fault(_call: ObjectCall) -> ObjectFault | None:
        return random.choice([ObjectFault.AWAY, ObjectFault.LOST]) if random.random() < rate else None

    objects = MemoryObjects(fault)
    node = with_history(objects)
    written: list[bytes] = []
    start, at = 0, dict[int, tuple[int, int]]()
    for step in range(40):
        node.now_ms += random.randrange(HISTORY_EVERY_MS)
        rate = random.choice([0.0, 0.0, 0.2])
        for _ in range(random.randrange(4)):
            written.append(b"%d " % len(written) + b"x" * random.choice([10, 30_000]))
            node.append(written[-1])
        if random.random() < 0.2 and len(written) > start + 3:
            start = random.randrange(start, len(written) - 1)
            node.log.set_log_start(7, start)
            node.log.storage[1].checkpoint_wanted = True
            node.commit(node.log)
            node.log.retire_segments()
            node.commit(node.log)
        if random.random() < 0.1:
            disk, now_ms = node.disk.crash(DROP_ALL), node.now_ms
            node = with_history(objects, disk=disk, incarnation=f"process-{step}")
            node.now_ms = now_ms
        try:
            node.round()
            if random.random() < 0.3:
                node.uploader.sweep(node.now_ms)
            at[node.now_ms] = start, len(written)
            node.uploader.clean(node.now_ms, count=50)
        except ObjectStoreError:
            pass
        rate = 0.0
        kept = [time_of(key.removeprefix("cluster/")) for key in objects.objects if f"/{CUTS}/" in key]
        for time_ms in kept:
            assert time_ms is not None
            found = restored_at(objects, time_ms)
            if time_ms in at:
                first, end = at[time_ms]
                assert found == written[first:end]
            assert found == written[len(written) :] or written.index(found[0]) + len(found) <= len(written)
    node.uploader.sweep(node.now_ms)
    node.now_ms += 2 * HISTORY_MS
    node.round()
    node.uploader.clean(node.now_ms, count=10_000)
    old = [key for key in objects.objects if f"/{CUTS}/" in key]
    assert len(old) <= 1, "what is older than the setting goes"
    assert node.uploader.past_cuts == len(old)
