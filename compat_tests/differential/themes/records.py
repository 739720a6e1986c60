"""Right and wrong batches for topics of every kind, and what comes back of them."""

from __future__ import annotations

import gzip

import cramjam
import lz4.frame

from compat_tests.batches import Batch
from compat_tests.differential.pools import INT32_MAX, INT64_MAX, records
from compat_tests.differential.steps import BASE_MS, Step, Steps
from compat_tests.differential.world import World, batch, create_topics, new_topic, produce_step
from compat_tests.requests import fetch_request
from protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic

YEAR_MS = 31_536_000_000


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    yield from _of_every_kind(world)
    yield from _compressed(world)
    yield from _at_every_time(world)
    yield from _too_large(world)
    yield from _unanswered(world)
    yield from _lying(world)
    yield from _several(world)
    yield from looked_at(world)


def _of_every_kind(world: World) -> Steps:
    for number, data in enumerate(records(world)):
        for place, name in enumerate((world.one, world.stamped, world.keyed)):
            version = 3 + (number + place * 5) % 11
            yield produce_step({(name, 0): _joined(data)}, version=version, acks=1 - 2 * (number % 2))
    good = batch(2)
    for attributes in (16, 32, 128, 256):
        yield produce_step({(world.one, 0): good.but(attributes=attributes)})
    for count in (0, 1, 3, -1, INT32_MAX):
        yield produce_step({(world.one, 0): good.but(count=count)})
    yield produce_step({(world.one, 0): _joined((good, good))}, acks=2)
    for acks in (2, -2, 127):
        yield produce_step({(world.one, 0): good, (world.one, 1): good, (world.never, 0): good}, acks=acks)


def _lying(world: World) -> Steps:
    """Produce batches whose records are not what the header says, to a topic that is not read again.

    Kafka opens every batch that it takes, Kawal none.
    """
    name = f"{world.prefix}-lies"
    yield create_topics(new_topic(name, 1))
    good = batch(2)
    for codec in range(1, 8):
        yield produce_step({(name, 0): good.but(attributes=codec)})
    for count in (0, 1, 3, -1, INT32_MAX):
        yield produce_step({(name, 0): good.but(count=count, last_offset_delta=count - 1)})
    yield produce_step({(name, 0): good.but(timestamp_deltas=[0, -100 * YEAR_MS])})
    payload = good.encode()[61:]
    for wrong in (
        b"",
        payload[:-1],
        payload + b"x",
        b"\xff" * len(payload),
        payload[:10] + b"\xff" + payload[11:],
    ):
        yield produce_step({(name, 0): good.but(payload=wrong)})
        yield produce_step({(name, 0): good.but(payload=wrong, attributes=4)})


def _joined(data: object) -> Batch | bytes | None:
    if isinstance(data, tuple):
        return b"".join(part.encode() if isinstance(part, Batch) else part for part in data)
    assert data is None or isinstance(data, Batch | bytes)
    return data


def _compressed(world: World) -> Steps:
    plain = batch(3)
    payload = plain.encode()[61:]
    codecs = {
        1: gzip.compress(payload, mtime=0),
        2: bytes(cramjam.snappy.compress_raw(payload)),
        3: lz4.frame.compress(payload, block_linked=False),
        4: bytes(cramjam.zstd.compress(payload)),
    }
    for codec, data in codecs.items():
        for name in (world.one, world.stamped):
            for version in (6, 7, 9):
                compressed = plain.but(attributes=codec, payload=data)
                yield produce_step({(name, 0): compressed}, version=version)


def _at_every_time(world: World) -> Steps:
    name = f"{world.prefix}-times"
    limits: dict[str, str | None] = {
        "message.timestamp.before.max.ms": str(100 * YEAR_MS),
        "message.timestamp.after.max.ms": str(YEAR_MS),
    }
    yield create_topics(new_topic(name, 1, limits))
    for first, deltas in [
        (BASE_MS, [0, 0]),
        (0, [0, 1]),
        (-1, [0, 0]),
        (-2, [0, 0]),
        (BASE_MS, [5, 0, 3]),
        (BASE_MS, [-1, 0]),
        (BASE_MS + 100 * YEAR_MS, [0, 0]),
        (BASE_MS, [0, 100 * YEAR_MS]),
        (BASE_MS - 200 * YEAR_MS, [0]),
        (INT64_MAX, [0]),
    ]:
        made = batch(len(deltas)).but(base_timestamp=first, timestamp_deltas=deltas)
        for topic in (name, world.one, world.stamped):
            yield produce_step({(topic, 0): made})
    for maximum in (0, BASE_MS - 5, BASE_MS + 5, INT64_MAX, -5):
        yield produce_step({(world.one, 0): batch(2).but(max_timestamp=maximum)})


def _too_large(world: World) -> Steps:
    name = f"{world.prefix}-small"
    yield create_topics(new_topic(name, 1, {"max.message.bytes": "200"}))
    for size in (1, 100, 120, 125, 130, 135, 140, 300):
        yield produce_step({(name, 0): Batch(values=[b"x" * size], base_timestamp=BASE_MS)})
    yield produce_step({(world.one, 0): Batch(values=[b"x" * 1_100_000], base_timestamp=BASE_MS)})


def _unanswered(world: World) -> Steps:
    yield produce_step({(world.one, 0): batch(1)}, acks=0)
    yield produce_step({(world.one, 7): batch(1)}, acks=0)
    yield produce_step({(world.one, 0): batch(1).but(crc=1)}, acks=0)
    yield produce_step({}, acks=0)
    yield produce_step({}, acks=1)
    yield produce_step({}, acks=5)


def _several(world: World) -> Steps:
    good, wrong = batch(2), batch(2).but(crc=1)
    yield produce_step({(world.three, 0): good, (world.three, 1): wrong, (world.three, 9): good})
    yield produce_step({(world.three, 2): good, (world.never, 0): good, (world.keyed, 0): good}, acks=1)
    yield produce_step({(world.three, 1): good, (world.one, 0): good, (world.gone, 0): good}, version=13)


def looked_at(world: World) -> Steps:
    """Fetch everything from every offset and look for every time."""
    for name in (world.one, world.stamped, world.keyed, f"{world.prefix}-times"):
        for offset in (0, 1, 7, 40):
            for isolation in (0, 1):
                yield Step(
                    fetch_request(name, offset, isolation_level=isolation), 4 + (offset + isolation) % 9
                )
        times = [-1, -2, -3, 0, *(BASE_MS + ms for ms in (-1, 0, 1, 5, 999, 1000, 1001)), BASE_MS + YEAR_MS]
        for number, time_ms in enumerate(times):
            asked = ListOffsetsPartition(partition_index=0, timestamp=time_ms)
            topics = [ListOffsetsTopic(name=name, partitions=[asked])]
            request = ListOffsetsRequest(replica_id=-1, isolation_level=number % 2, topics=topics)
            yield Step(request, 7 + number % 5)
    yield produce_step({(world.three, 0): batch(3), (world.three, 1): batch(3)})
    yield Step(fetch_request(world.three, 0, 0, isolation_level=1, partition_max_bytes=1), 12)
