"""One directory made of the copies of all workers, each at a moment of its own; what is refused is named."""

from __future__ import annotations

import pytest

from tests.wal.logs import batch
from tests.wal.remote.folders import Folder
from tests.wal.remote.workers import Worker, all_restored, found_in, restore_of, workers_over
from wal.backup_manifest import BackupError
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.objects import swap
from wal.remote.formats import seal
from wal.remote.mirror import Mirror
from wal.remote.read_objects import read_cut
from wal.segment import ANOTHER_HISTORY
from wal.store_marker import MARKER, marker_workers, read_marker

LONG = b"x" * 30_000


def written(objects: MemoryObjects, *, count: int = 2, vnodes: int = 2) -> list[Worker]:
    """Return workers that have written, and copied, something each, but for those without a log."""
    workers = workers_over(objects, count=count, vnodes=vnodes)
    for worker in workers:
        if worker.logs:
            worker.append(*[b"%d %d " % (worker.number, number) + LONG for number in range(5)])
        assert not worker.round().segments_missing
    return workers


def changed(objects: MemoryObjects, folder: str, **values: object) -> None:
    """Change something in a cut."""
    from msgspec.structs import replace

    place = Folder(objects, folder)
    cut, etag = read_cut(place, "cluster")
    assert cut is not None
    swap(place, "cluster/cut", seal(replace(cut, **values)), etag)


@pytest.mark.parametrize("count", [2, 3])
def test_the_copies_of_all_workers_make_one_directory_of_no_number_of_workers(count: int) -> None:
    objects = MemoryObjects()
    written(objects, count=count, vnodes=count)
    disk = all_restored(objects)
    assert found_in(disk, vnodes=count) == [
        [b"%d %d " % (worker, number) + LONG for number in range(5)] for worker in range(count)
    ]
    assert marker_workers(disk, f"data/{MARKER}") == 1
    assert read_marker(disk, f"data/{MARKER}").nodes == 1
    folders = {key.split("/", 1)[0] for key in objects.objects}
    assert folders == {"cluster", *(f"node-{number}" for number in range(1, count))}


def test_progress_is_that_of_all_copies_and_the_marker_comes_last() -> None:
    objects, disk = MemoryObjects(), MemoryDisk()
    written(objects)
    restore = restore_of(objects, disk)
    steps = list(restore.run())
    copying = [step for step in steps if step.phase == "copying"]
    assert copying[-1].done_bytes == copying[-1].total_bytes == restore.size_bytes
    assert restore.size_bytes > 10 * len(LONG)
    assert (restore.log_count, restore.left_out) == (3, [])
    again = MemoryDisk()
    for _ in restore_of(objects, again).run():
        assert not again.exists(f"data/{MARKER}")
    assert again.exists(f"data/{MARKER}")


def test_a_worker_that_leads_no_log_has_a_copy_of_nothing() -> None:
    objects = MemoryObjects()
    workers = written(objects, count=3, vnodes=2)
    workers[2].round()
    writes = sum(call.kind != "read" for call in objects.calls)
    workers[2].round()
    assert sum(call.kind != "read" for call in objects.calls) == writes, "and asks for nothing more"
    assert [len(found) for found in found_in(all_restored(objects))] == [5, 5]


def test_a_copy_that_is_missing_is_named() -> None:
    objects = MemoryObjects()
    written(objects)
    objects.objects = {key: found for key, found in objects.objects.items() if not key.startswith("node-1/")}
    with pytest.raises(
        BackupError, match=r"all 2 workers are needed, and that of worker 1 .*memory/node-1: no copy"
    ):
        all_restored(objects)


def test_a_copy_of_which_nothing_was_uploaded_yet_is_named() -> None:
    objects = MemoryObjects()
    first, second = workers_over(objects)
    first.round()
    second.append(b"one")
    second.uploader.take_over(second.views(), 0)
    with pytest.raises(BackupError, match=r"that of worker 1 .*the copy is not complete yet: all segments"):
        all_restored(objects)


def test_a_copy_that_lacks_segments_is_named() -> None:
    objects = MemoryObjects()
    first, second = workers_over(objects)
    first.round()
    second.append(*[LONG] * 6)
    assert second.round(budget_bytes=1).segments_missing
    with pytest.raises(BackupError, match=r"that of worker 1 .*not complete yet: \d of default/vnode-1"):
        all_restored(objects)


def test_a_copy_of_another_number_of_workers_or_of_another_directory_is_named() -> None:
    objects = MemoryObjects()
    written(objects)
    changed(objects, "node-1", workers=3)
    with pytest.raises(BackupError, match="memory/node-1/cluster is the copy of worker 1 of 3"):
        all_restored(objects)
    changed(objects, "node-1", workers=2, secret="another")
    with pytest.raises(BackupError, match="memory/node-1/cluster is the copy of another directory"):
        all_restored(objects)


def test_the_part_of_one_worker_is_not_restored_by_itself() -> None:
    objects = MemoryObjects()
    written(objects)
    with pytest.raises(BackupError, match="memory/node-1: the copy of worker 1 of 2, which is a part"):
        restore_of(objects, MemoryDisk(), first="node-1")


def test_a_log_that_is_younger_than_its_workers_copy_begins_empty_and_with_another_history() -> None:
    """The catalogue's moment is later: it knows a log that worker 1 had not when it made its copy."""
    objects = MemoryObjects()
    first, _ = written(objects)
    first.store.create_vnode("default", 3)
    first.record("default/vnode-3")
    first.round()
    disk = all_restored(objects)
    assert disk.list("data/default/vnode-3") == [ANOTHER_HISTORY]
    worker = Worker(objects, disk, 1, vnodes=4)
    assert worker.logs["default/vnode-3"].largest_leader_epoch() > 0


def test_a_log_younger_than_the_catalogues_copy_is_left_out_and_told() -> None:
    """The catalogue's moment is earlier: a later log of the same number must not have its records."""
    objects = MemoryObjects()
    first, second = written(objects)
    first.store.create_vnode("default", 3)
    log = second.store.open_vnode("default", 3, now_ms=0, options=second.store.options)
    second.logs["default/vnode-3"] = log
    log.append(7, batch(body=LONG))
    second.commit(log)
    second.round()
    disk = MemoryDisk()
    restore = restore_of(objects, disk)
    steps = list(restore.run())
    assert restore.left_out == ["default/vnode-3"]
    assert not disk.exists("data/default/vnode-3")
    assert max(step.done_bytes for step in steps if step.phase == "copying") == restore.size_bytes
    assert [len(found) for found in found_in(disk)] == [5, 5]


def test_streams_that_the_catalogue_does_not_know_stay_in_their_logs() -> None:
    objects = MemoryObjects()
    _, second = written(objects)
    second.append(b"of a topic that is younger", stream=9)
    second.round()
    disk = all_restored(objects)
    assert sorted(Worker(objects, disk, 1).log.streams()) == [7, 9]


def test_each_copy_is_taken_at_the_moment_that_was_asked_for() -> None:
    objects = MemoryObjects()
    workers = workers_over(objects)
    for worker in workers:
        worker.uploader._history_ms = 1 << 30
    for number in range(3):
        for worker in workers:
            worker.now_ms = 100_000 * (number + 1) + 10 * worker.number
            worker.append(b"%d" % number)
            worker.now_ms = 100_000 * (number + 1) + 10 * worker.number
            worker.round()
    assert found_in(all_restored(objects, at_ms=200_050)) == [[b"0", b"1"]] * 2
    assert found_in(all_restored(objects, at_ms=200_005)) == [[b"0", b"1"], [b"0"]]
    with pytest.raises(BackupError, match=r"that of worker 1 .*memory/node-1/cluster/cuts/: no cut of"):
        all_restored(objects, at_ms=100_005)


def test_a_directory_that_was_restored_goes_on_with_the_copies_of_as_many_workers() -> None:
    objects = MemoryObjects()
    written(objects)
    disk = all_restored(objects)
    again = [Worker(objects, disk, number) for number in range(2)]
    for worker in again:
        worker.append(b"later")
        assert not worker.round().segments_missing
    assert [found[-1] for found in found_in(all_restored(objects))] == [b"later"] * 2


def test_a_standby_does_not_follow_the_copy_of_a_worker() -> None:
    objects = MemoryObjects()
    written(objects)
    mirror = Mirror(Folder(objects, ""), MemoryDisk(), cluster_id="cluster", data="data")
    with pytest.raises(BackupError, match=r"of worker 0 of 2.*'kawal restore'"):
        list(mirror.follow())
