"""Power failures at block level: a real server on ext4 or xfs, on a device that logs writes and barriers.

A run works under stock clients and is killed now and then.  Afterwards the dose is the number of moments at
which the power fails: each gives an image of the device, which is mounted (the journal is replayed), opened,
read, compared with the history up to that moment, and written to; one of ten is read by a stock client, too.

What was acknowledged, or read once, before the moment must be there; a start must not be refused, and no log
may call itself damaged.  A control shows that the rig bites: with `kawal.durability=os` records are lost.
"""

from __future__ import annotations

import gc
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import ExitStack
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any, Final

from reliability.block_device import DEVICE_BYTES, FILE_SYSTEMS, BlockDevice, FileSystem, LoopMount
from reliability.block_log import PowerFailures
from reliability.check import FINAL, Anomalies, Check
from reliability.clients import COMPACTED, PARTITIONS, PLAIN, TOPICS, key_of
from reliability.history import Op
from reliability.world import SETTINGS, World
from tests.sim.mounted_store import Shown, show

STOCK_EVERY: Final = 10
"""One image of so many is also read by a stock client, from a server of its own, which takes seconds."""

LOAD_SECONDS: Final = 6.0
KILLS: Final = 3
GROUP: Final = "librdkafka-reader"

GATEWAY_SETTINGS: Final = {
    "kawal_segment_bytes": int(SETTINGS["kawal.segment.bytes"]),
    "kawal_min_free_bytes": 0,
}


def logging_device(directory: Path, file_system: FileSystem) -> BlockDevice:
    """Return a device that keeps its log in `directory`; it is as large as `DEVICE_BYTES`."""
    store = directory / "store.img"
    with store.open("wb") as file:
        file.truncate(DEVICE_BYTES)
    plugin = Path(__file__).with_name("block_plugin.py")
    words = ("python", str(plugin), f"store={store}", f"log={directory / 'block.log'}")
    return BlockDevice(directory, words, file_system)


def prepare(world: World, stack: ExitStack) -> None:
    """Put the data on a logging device with a file system chosen by the seed."""
    world.device = logging_device(world.directory, FILE_SYSTEMS[world.seed % len(FILE_SYSTEMS)])
    world.data = stack.enter_context(world.device) / "data"


def load(world: World, dose: float) -> dict[str, Any]:
    """Work for a while, with kills in between: their recoveries write, too."""
    assert world.device is not None
    for _ in range(KILLS):
        time.sleep(LOAD_SECONDS / (KILLS + 1))
        assert world.process is not None
        world.process.kill()
        world.history.add("server", "crash", "info")
        world.start()
        world.wait_for_acks(20)
    time.sleep(LOAD_SECONDS / (KILLS + 1))
    return {"power_losses": int(dose), "file_system": world.device.file_system}


def fail_power(world: World, dose: float) -> Anomalies:
    """Judge the images of so many power failures since the clients began; the server has ended."""
    assert world.device is not None
    anomalies: Anomalies = defaultdict(list)
    random = Random(f"power-{world.seed}")
    ops = tuple(world.history.ops)
    began = next(op.time_ns for op in ops if op.type == "ok")
    image = world.directory / "power.img"
    failures = PowerFailures(world.directory / "block.log", image, DEVICE_BYTES)
    first = failures.after(began)
    # The history stays: collections after each image need not look at it.
    gc.freeze()
    moments = sorted(random.randrange(first, len(failures)) for _ in range(int(dose)))
    for number, at in enumerate(moments):
        failure = failures.fail(at, random)
        before = [op for op in ops if op.time_ns < failure.time_ns]
        with LoopMount(image, world.directory / "image", world.device.file_system) as place:
            found = _read_by_client(world, place / "data", before, number) if not number % STOCK_EVERY else {}
            shown = show(place / "data", TOPICS, PARTITIONS, group=GROUP, **GATEWAY_SETTINGS)
            gc.collect()  # closes the files of the gateway, so that it can be unmounted
        for name, facts in chain(found.items(), judged(before, shown).items()):
            anomalies[name] += [{**fact, "power": failure.summary} for fact in facts]
    failures.close()
    return anomalies


def _read_by_client(world: World, data: Path, before: Sequence[Op], number: int) -> Anomalies:
    """Start a real server on an image, and judge what a stock client reads from it."""
    directory = world.directory / f"image-{number}"
    directory.mkdir()
    reader = World(directory, world.seed, data=data)
    try:
        reader.start()
        starts = reader.read_all()
    except AssertionError as error:
        return {"no-start": [{"problem": str(error)}]}
    finally:
        reader.close()
        reader.history.close()
    compacted = frozenset(key_of(COMPACTED, index) for index in range(PARTITIONS))
    return Check([*before, *reader.history.ops], log_starts=starts, compacted=compacted).anomalies


def judged(before: Sequence[Op], shown: Shown) -> Anomalies:
    """Return what a store lacks, or shows wrongly, after these operations."""
    if shown.problem:
        return {"no-start": [{"problem": shown.problem}]}
    lost = sorted(set(TOPICS) - shown.topics)
    if lost:
        return {"lost-topic": [{"topics": lost}]}
    anomalies: Anomalies = defaultdict(list)
    starts = {key_of(*place): start for place, start in shown.starts.items()}
    found = [
        Op(FINAL, "poll", "ok", records=tuple((key_of(*place), offset, value) for offset, value in records))
        for place, records in shown.records.items()
    ]
    found += [
        Op(GROUP, "committed", "ok", key=key_of(*place), offset=shown.committed.get(place, -1))
        for place in shown.records
    ]
    compacted = frozenset(key_of(COMPACTED, number) for number in range(PARTITIONS))
    check = Check([*before, *found], log_starts=starts, compacted=compacted)
    anomalies.update(check.anomalies)
    for number in range(PARTITIONS):
        if starts[key_of(PLAIN, number)]:
            anomalies["moved-log-start"].append({"key": key_of(PLAIN, number)})
    for place, problem in shown.refusals.items():
        anomalies["refused"].append({"key": key_of(*place), "problem": problem})
    return anomalies
