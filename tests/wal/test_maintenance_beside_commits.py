"""Maintenance and commits run in two threads at once; every order of their steps must leave the log whole."""

from __future__ import annotations

from random import Random

import pytest

from tests.wal.logs import batch, commit, open_log, read_all, small_options
from wal.maintenance_jobs import SpareJob
from wal.memory_disk import MemoryDisk


def test_the_name_of_a_spare_is_not_reused_before_the_roll_that_takes_it_is_done() -> None:
    """Bug: a new spare replaced the file that a roll under way was about to rename; both vnodes were lost."""
    disk = MemoryDisk()
    log = open_log(disk, small_options())
    sent = b""
    rolled = False
    for _ in range(400):
        data = batch(body=b"x" * 900)
        log.append(1, data)
        sent += bytes(data)
        job = log.begin_sync(0)
        assert job is not None
        beside = log.begin_maintenance(0)
        if getattr(job, "create", None) is not None:
            rolled = True
            assert not isinstance(beside, SpareJob)
        if beside is not None:
            beside.run()
        job.run()
        log.synced(job, 0)
        if beside is not None:
            log.maintained(beside, 0)
    assert rolled
    again = open_log(disk, small_options())
    assert again.damage is None
    assert read_all(again, 1) == sent


@pytest.mark.parametrize("seed", range(20))
def test_any_interleaving_of_maintenance_and_commits_recovers_everything(seed: int) -> None:
    random = Random(seed)
    disk = MemoryDisk()
    log = open_log(disk, small_options())
    sent = b""
    beside = None
    for _ in range(300):
        data = batch(body=bytes(random.randrange(2000)))
        log.append(1, data)
        sent += bytes(data)
        if beside is None and random.random() < 0.7:
            beside = log.begin_maintenance(0)
        if random.random() < 0.5:
            commit(log)
        if beside is not None and random.random() < 0.4:
            beside.run()
            log.maintained(beside, 0)
            beside = None
    commit(log)
    again = open_log(disk, small_options())
    assert again.damage is None
    assert read_all(again, 1) == sent
