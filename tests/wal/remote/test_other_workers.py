"""A copy belongs to a number of workers: another number finds it, says so, and leaves it as it is."""

from __future__ import annotations

import pytest

from tests.wal.remote.copies import Node
from tests.wal.remote.workers import Worker, workers_over
from wal.errors import OtherWorkers
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote.formats import JOURNAL_FORMAT, REMOTE_FORMAT, WORKERS_FORMAT


def refused(objects: MemoryObjects, process: Worker | Node, sentence: str) -> None:
    """Have a process try to take the copy over, which is refused and changes nothing."""
    before = dict(objects.objects)
    for _ in range(2):
        with pytest.raises(OtherWorkers, match=sentence):
            process.round()
    assert objects.objects == before


def test_a_cut_says_whose_it_is_and_older_programs_refuse_that_of_several() -> None:
    objects = MemoryObjects()
    for worker in workers_over(objects, count=3, vnodes=3):
        worker.round()
        cut = worker.uploader.cut
        assert cut is not None
        assert (cut.format, cut.worker, cut.workers) == (WORKERS_FORMAT, worker.number, 3)
    assert WORKERS_FORMAT > JOURNAL_FORMAT
    alone = Node(MemoryObjects())
    alone.round()
    assert alone.uploader.cut is not None
    assert (alone.uploader.cut.format, alone.uploader.cut.workers) == (REMOTE_FORMAT, 1)


def test_one_process_leaves_the_copy_of_workers_as_it_is() -> None:
    objects = MemoryObjects()
    for worker in workers_over(objects):
        worker.round()
    node = Node(objects)
    refused(objects, node, "a copy by 2 workers, and this server has 1 worker .*start with --workers 2")


def test_workers_leave_the_copy_of_one_process_as_it_is() -> None:
    objects = MemoryObjects()
    Node(objects).round()
    first, second = workers_over(objects)
    refused(objects, first, "^memory/cluster is a copy by 1 worker, and this server has 2 workers")
    refused(objects, second, "^memory/cluster is a copy by 1 worker, and this server has 2 workers")


def test_a_worker_with_an_empty_place_looks_at_that_of_the_first_one() -> None:
    objects = MemoryObjects()
    for worker in workers_over(objects):
        worker.round()
    disk = MemoryDisk()
    workers = [Worker(objects, disk, number, count=4, vnodes=4) for number in range(4)]
    refused(objects, workers[3], "^memory/cluster is a copy by 2 workers, and this server has 4 workers")
    refused(objects, workers[1], "^memory/node-1/cluster is a copy by 2 workers")


def test_a_place_that_is_another_workers_is_refused() -> None:
    objects = MemoryObjects()
    _, second = workers_over(objects)
    second.round()
    for key in list(objects.objects):
        objects.objects[key.removeprefix("node-1/")] = objects.objects.pop(key)
    first, _ = workers_over(objects)
    refused(objects, first, "^memory/cluster is the copy of worker 1, and this is worker 0")


def test_the_same_number_of_workers_goes_on() -> None:
    objects = MemoryObjects()
    workers = workers_over(objects)
    for worker in workers:
        worker.append(b"one")
        worker.round()
    for number in range(2):
        again = Worker(objects, workers[0].disk, number)
        again.round()
        assert again.uploader.cut is not None
        assert again.uploader.cut.epoch == 2
