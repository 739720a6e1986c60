"""Another number of workers is refused while segments are in the folders of the one before, and only then."""

from __future__ import annotations

import pytest

from tests.wal.remote.workers import Worker, workers_over
from tests.wal.test_tiering import filled
from wal.errors import OtherWorkers
from wal.memory_disk import MemoryDisk
from wal.memory_objects import MemoryObjects
from wal.remote_record import read_records
from wal.segment import segment_name
from wal.store_marker import MARKER, WORKERS_FORMAT, marker_format, write_marker
from wal.tiered_workers import refuse_other_workers


def tiered(*, count: int = 2) -> Worker:
    """Return a worker of so many whose first segments are in the store alone."""
    worker = workers_over(MemoryObjects(), count=count, vnodes=count)[1]
    worker.append(*[b"x" * 30_000] * 8)
    worker.checkpoint()
    worker.round()
    worker.tier()
    assert worker.log.remote_usage()[0] > 1
    return worker


def test_a_new_directory_may_be_served_by_any_number() -> None:
    refuse_other_workers(MemoryDisk(), "data", 5)


def test_without_segments_in_the_store_alone_the_number_is_free() -> None:
    disk = workers_over(MemoryObjects())[0].disk
    for count in (1, 2, 3):
        refuse_other_workers(disk, "data", count)


def test_with_some_another_number_is_refused_with_both_and_nothing_is_changed() -> None:
    disk = tiered().disk
    assert marker_format(disk, f"data/{MARKER}") == WORKERS_FORMAT
    refuse_other_workers(disk, "data", 2)
    before = disk.files()
    for count in (1, 3):
        with pytest.raises(
            OtherWorkers, match=r"^data/default/vnode-1: \d segments .* 2 workers put them.*--workers 2 "
        ):
            refuse_other_workers(disk, "data", count)
    assert disk.files() == before


def test_those_of_one_process_are_not_taken_for_those_of_workers() -> None:
    node, _ = filled()
    node.tier()
    with pytest.raises(OtherWorkers, match="where 1 worker put them, and 2 workers would look elsewhere"):
        refuse_other_workers(node.disk, "data", 2)
    write_marker(node.disk, "data", node.store.identity)
    with pytest.raises(OtherWorkers):
        refuse_other_workers(node.disk, "data", 2)  # an older version did not raise the format
    refuse_other_workers(node.disk, "data", 1)


def test_a_segment_whose_file_is_still_there_is_not_away() -> None:
    """A crash between the record and the removal of the file."""
    worker = tiered()
    directory = worker.log.directory
    records = read_records(worker.disk, directory, worker.disk.list(directory))
    for base in records:
        worker.disk.open(f"{directory}/{segment_name(base)}", create=True).close()
    refuse_other_workers(worker.disk, "data", 1)


def test_once_they_are_all_removed_the_number_is_free_again() -> None:
    worker = tiered()
    worker.log.set_log_start(7, 8)
    worker.commit(worker.log)
    worker.log.retire_segments()
    worker.commit(worker.log)
    assert not worker.log.remote_usage()[0]
    refuse_other_workers(worker.disk, "data", 1)
