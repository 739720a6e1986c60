"""The scenarios: each breaks one job in one way, and asserts that it ends in an equal audit or a sentence."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from compat_tests.pipeline_jobs import DEADLINE_SECONDS, Ended, produce_numbers, produce_values
from compat_tests.pipeline_kills.cluster import (
    EXECUTOR,
    busy_python_workers,
    cluster,
    kill,
    move_to_cluster,
    named,
)
from compat_tests.pipeline_kills.ground import MANY, Ground, ended, in_mid_batch, produce_many
from compat_tests.topics import create_topic, delete_topic, grow_topic
from compat_tests.waiting import eventually

STEPS = ("planned", "written", "staged", "quarantined", "placed", "landed")
"""The points of `pipeline.probe` at which a driver dies."""

ROWS = 39
"""The rows of each of the first two batches of `produce_with_junk`."""

KILLED = -signal.SIGKILL
SMALL_DISK_BYTES = 3 << 20


def driver_dies(step: str, batches: int = 2) -> Callable[[Ground], None]:
    """Return the scenario of a driver that is killed at `step` of each of its first `batches`."""

    def scenario(ground: Ground) -> None:
        produce_with_junk(ground)
        in_log = ground.format != "parquet"
        for batch in range(batches):
            before = ROWS * batch
            must_have_died(ground.job.run_and_die(step, batch))
            # A table without a log of its own shows a batch as soon as its folder is there.
            after = before + ROWS if step == "landed" or (step == "placed" and not in_log) else before
            seen = ground.visible_rows()
            assert seen == after, f"{seen} rows after batch {batch} was killed at {step!r}, not {after}"
        ground.job.run_here()
        ground.must_be_equal(rows=100, bad=4)

    return scenario


def must_have_died(run: Ended) -> None:
    """Say what a run said that ended in another way than by the kill that was ordered."""
    assert run.code == KILLED, f"{run.code}: {run.out}{run.err}"


def produce_with_junk(ground: Ground) -> None:
    """Produce 100 numbers, a bad record into each of the first two batches of 40, and two into the third."""
    numbers = [(number % 2, b'{"n":%d}' % number) for number in range(100)]
    records = [(0, b"junk"), *numbers[:50], (1, b"junk"), *numbers[50:], (0, b"junk"), (1, b"junk")]
    produce_values(ground.broker, ground.topic, records)


def python_worker_dies(ground: Ground) -> None:
    """Kill the process that computes rows: the batch fails with a sentence, and the next run lands it."""
    produce_many(ground)
    with ground.running() as run:
        kill(in_mid_batch(run, lambda: busy_python_workers([run.pid])))
        code, out = ended(run)
    assert code == 1, out
    assert "a Python worker of Spark exited unexpectedly" in out.splitlines()[-1], out
    assert ground.visible_rows() == 0
    ground.job.run_here()
    ground.must_be_equal(rows=MANY)


def executor_dies(ground: Ground) -> None:
    """Kill an executor of a cluster of two workers in mid-batch: the other takes over in the same run."""
    produce_many(ground)
    with cluster(ground.folder) as (master, workers):
        move_to_cluster(ground.edit, master)
        with ground.running() as run:
            in_mid_batch(run, lambda: busy_python_workers(workers))
            kill(named(workers, EXECUTOR)[0])
            code, out = ended(run)
        assert code == 0, out
        ground.edit(master, "local[2]")
    ground.must_be_equal(rows=MANY)


def cluster_python_worker_dies(ground: Ground) -> None:
    """Kill the process that computes rows on a cluster: the task is tried again in the same run."""
    produce_many(ground)
    with cluster(ground.folder) as (master, workers):
        move_to_cluster(ground.edit, master)
        with ground.running() as run:
            kill(in_mid_batch(run, lambda: busy_python_workers(workers)))
            code, out = ended(run)
        assert code == 0, out
        ground.edit(master, "local[2]")
    ground.must_be_equal(rows=MANY)


def gateway_dies(ground: Ground) -> None:
    """Kill the broker in mid-batch and start it again: the same run goes on."""
    produce_many(ground)
    with ground.running() as run:
        in_mid_batch(run, lambda: busy_python_workers([run.pid]))
        ground.broker.kill()
        time.sleep(3)
        ground.broker.restart()
        code, out = ended(run)
    assert code == 0, out
    ground.must_be_equal(rows=MANY)


def bad_records(ground: Ground) -> None:
    """Land what fits, and keep the rest: a job that allows none stops before its batch, with exit code 3."""
    produce_numbers(ground.broker, ground.topic, range(30))
    produce_values(
        ground.broker, ground.topic, [(0, b"junk"), (1, b'{"n":"x"}'), (0, None), (1, b'{"n":30}')]
    )
    ground.edit("[spark]\n", '[errors]\nmode = "fail"\n[spark]\n')
    stopped = ground.job.run()
    assert (stopped.code, "3 bad records" in stopped.err) == (3, True), stopped.err
    assert ground.visible_rows() == 0
    ground.edit('mode = "fail"', 'mode = "quarantine"')
    ground.job.run_here()
    ground.must_be_equal(rows=31, bad=3)


def schema_drifts(ground: Ground) -> None:
    """Refuse a column of another type by its name, and take a new column that may be null."""
    produce_numbers(ground.broker, ground.topic, range(10))
    ground.job.run_here()
    ground.edit("n int not null", "n string")
    refused = ground.job.pipe("check")
    assert (refused.code, "column 'n' is int in the table" in refused.out) == (1, True), refused.out
    ground.edit("n string", "n int not null, extra string")
    produce_values(ground.broker, ground.topic, [(0, b'{"n":10,"extra":"x"}')])
    ground.job.run_here()
    ground.must_be_equal(rows=11)


def late_data(ground: Ground) -> None:
    """Land records whose time is far behind, and count them as late."""
    from confluent_kafka import Producer

    produce_numbers(ground.broker, ground.topic, range(10))
    ground.job.run_here()
    producer = Producer({"bootstrap.servers": ground.broker.bootstrap})
    two_hours_ago_ms = int(time.time() * 1000) - 7_200_000
    for number in range(10, 15):
        producer.produce(ground.topic, b'{"n":%d}' % number, partition=0, timestamp=two_hours_ago_ms)
    assert producer.flush(60) == 0
    assert ground.job.run_here()["late"] == 5
    ground.must_be_equal(rows=15)


def partition_is_added(ground: Ground) -> None:
    """Land a new partition from its first record on."""
    produce_numbers(ground.broker, ground.topic, range(10))
    ground.job.run_here()
    grow_topic(ground.broker, ground.topic, 3)
    produce_values(ground.broker, ground.topic, [(2, b'{"n":10}'), (0, b'{"n":11}')])
    ground.job.run_here()
    ground.must_be_equal(rows=12)


def topic_is_made_again(ground: Ground) -> None:
    """Refuse a topic that was deleted and made again, until it is reset; then land its first record, too."""
    produce_numbers(ground.broker, ground.topic, range(10))
    ground.job.run_here()
    delete_topic(ground.broker, ground.topic)
    create_topic(ground.broker, ground.topic, 2)
    produce_numbers(ground.broker, ground.topic, range(100, 120))
    refused = ground.job.run()
    assert (refused.code, "was deleted and made again" in refused.err) == (1, True), refused.err
    assert ground.job.pipe("reset", "--topic", ground.topic, "--from-new").code == 0
    ground.job.run_here()
    found = ground.audited()
    assert (found["equal"], sum(each["table"]["rows"] for each in found["partitions"])) == (True, 20), found
    assert ground.visible_rows() == 30


def disk_is_full(ground: Ground) -> None:
    """Fill the disk of the table in mid-run, and make room: what had landed stays, and the rest lands."""
    lake = ground.folder / "lake"
    lake.mkdir()
    ground.edit("max_offsets_per_trigger = 40", "max_offsets_per_trigger = 4000")
    ground.edit("n int not null", "n int not null, text string")
    produce_values(
        ground.broker,
        ground.topic,
        [(n % 2, json.dumps({"n": n, "text": os.urandom(300).hex()}).encode()) for n in range(20_000)],
    )
    _mount("-t", "tmpfs", "-o", f"size={SMALL_DISK_BYTES}", "tmpfs", lake)
    try:
        full = ground.job.run()
        assert full.code == 1, full.out
        assert "No space left on device" in full.err, full.err
        landed = ground.visible_rows()
        assert landed % 4000 == 0, landed
        _mount("-o", "remount,size=200m", lake)
        ground.job.run_here()
        ground.must_be_equal(rows=20_000)
    finally:
        subprocess.run(["umount", "--lazy", str(lake)], check=True)


def disk_goes_away(ground: Ground) -> None:
    """Take the mount of the table away in mid-run: nothing lands in the empty folder below it."""
    lake, device = ground.folder / "lake", ground.folder / "device"
    lake.mkdir()
    device.mkdir()
    ground.edit("[job]\n", f'[job]\ncheckpoint = "{ground.folder / "checkpoint"}"\n')
    ground.edit("[spark]\n", '[trigger]\nmode = "interval"\ninterval = "200ms"\n[spark]\n')
    produce_numbers(ground.broker, ground.topic, range(40))
    _mount("--bind", device, lake)
    with ground.running() as run:
        eventually(
            lambda: ground.visible_rows() == 40,
            waiting_for="the first batch",
            within_seconds=DEADLINE_SECONDS,
        )
        subprocess.run(["umount", "--lazy", str(lake)], check=True)
        produce_numbers(ground.broker, ground.topic, range(40, 60))
        code, out = ended(run)
    assert code == 1, out
    assert ground.visible_rows() == 0, "something has landed below the mount point"
    _mount("--bind", device, lake)
    try:
        ground.edit('mode = "interval"', 'mode = "available_now"')
        ground.job.run_here()
        ground.must_be_equal(rows=60)
    finally:
        subprocess.run(["umount", "--lazy", str(lake)], check=True)


def checkpoint_is_lost(ground: Ground) -> None:
    """Lose Spark's checkpoint between two runs: the job goes on where its table ends."""
    produce_numbers(ground.broker, ground.topic, range(30))
    ground.job.run_here()
    ground.places.checkpoint.rename(ground.folder / "lost")
    produce_numbers(ground.broker, ground.topic, range(30, 50))
    assert ground.job.run_here()["rows"] == 20
    ground.must_be_equal(rows=50)


def nothing_new(ground: Ground) -> None:
    """Run twice: the second run changes no file."""
    produce_numbers(ground.broker, ground.topic, range(30))
    ground.job.run_here()
    before = ground.files()
    assert ground.job.run_here()["rows"] == 0
    assert ground.files() == before
    ground.must_be_equal(rows=30)


def bucket_goes_away(ground: Ground) -> None:
    """Take the store of a table away between two runs: it is refused with its address till it is back."""
    assert ground.store is not None
    produce_numbers(ground.broker, ground.topic, range(40))
    ground.job.run_here()
    produce_numbers(ground.broker, ground.topic, range(40, 100))
    ground.store.kill()
    refused = ground.job.pipe("check")
    assert (refused.code, "the store does not answer" in refused.out) == (1, True), refused.out
    ground.store.restart()
    ground.job.run_here()
    ground.must_be_equal(rows=100)


def _mount(*arguments: str | Path) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


SCENARIOS: dict[str, Callable[[Ground], None]] = {
    **{f"driver-{step}": driver_dies(step) for step in STEPS},
    "python-worker": python_worker_dies,
    "executor": executor_dies,
    "cluster-python-worker": cluster_python_worker_dies,
    "gateway": gateway_dies,
    "bad-records": bad_records,
    "drift": schema_drifts,
    "late": late_data,
    "partition-added": partition_is_added,
    "topic-made-again": topic_is_made_again,
    "disk-full": disk_is_full,
    "disk-away": disk_goes_away,
    "checkpoint-lost": checkpoint_is_lost,
    "twice": nothing_new,
    "bucket-away": bucket_goes_away,
}

LOCAL = frozenset({"disk-full", "disk-away"})
"""The scenarios that need the table to be on a disk."""

BUCKET = frozenset({"bucket-away"})
"""The scenarios that need the table to be in a bucket."""
