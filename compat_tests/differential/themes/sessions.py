"""Fetch sessions: opened, continued, changed, wrong, while records come and topics are deleted."""

from __future__ import annotations

from typing import Any

from compat_tests.differential.steps import Step, Steps, session, topic_id
from compat_tests.differential.world import World, batch, produce_step
from compat_tests.requests import ZERO
from protocol.messages.delete_topics import DeleteTopicsRequest
from protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic

RANDOM_STEPS = 150
SESSIONS = 3


def steps(world: World) -> Steps:
    """Return the whole theme: by name, then by id."""
    yield from world.create()
    yield from world.fill()
    first = 0
    for version in (7, 12, 13, 17):
        yield from _told_only_what_is_new(world, version, first)
        yield from _at_random(world, version, first + 2)
        first += 2 + SESSIONS
    yield from _with_a_topic_deleted(world, first)


def _fetch(
    version: int,
    number: int | None,
    epoch: int,
    *asked: tuple[str, int, int],
    forget: tuple[tuple[str, int], ...] = (),
    **fields: Any,
) -> Step:
    by_id = version >= 13
    topics = [
        FetchTopic(
            topic="" if by_id else name,
            topic_id=topic_id(name) if by_id else ZERO,
            partitions=[FetchPartition(partition=index, fetch_offset=offset, partition_max_bytes=100_000)],
        )
        for name, index, offset in asked
    ]
    forgotten = [
        ForgottenTopic(
            topic="" if by_id else name, topic_id=topic_id(name) if by_id else ZERO, partitions=[index]
        )
        for name, index in forget
    ]
    given = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": 1_000_000} | fields
    request = FetchRequest(
        session_id=0 if number is None else session(number),
        session_epoch=epoch,
        topics=topics,
        forgotten_topics_data=forgotten,
        **given,
    )
    return Step(request, version)


def _told_only_what_is_new(world: World, version: int, first: int) -> Steps:
    one, three = world.one, world.three
    yield _fetch(version, None, 0, (one, 0, 0), (three, 0, 0), (three, 2, 0))
    yield _fetch(version, first, 1)
    yield _fetch(version, first, 2, (one, 0, 9), (three, 0, 6))
    yield _fetch(version, first, 3)
    yield produce_step({(three, 2): batch(1)})
    yield _fetch(version, first, 4)
    yield _fetch(version, first, 5, (three, 2, 100))
    yield _fetch(version, first, 6, (three, 2, 0), (three, 7, 0))
    yield _fetch(version, first, 7, forget=((three, 7), (three, 1), (world.never, 0)))
    yield _fetch(version, first, 7)
    yield _fetch(version, first, 9)
    yield _fetch(version, first + 1, 8)
    yield _fetch(version, first, 8, forget=((one, 0), (three, 0)), isolation_level=1)
    yield _fetch(version, first, 9, forget=((three, 2),))
    yield _fetch(version, first, 10)
    yield _fetch(version, None, 0, (one, 0, 0))
    yield _fetch(version, first + 1, 1, (one, 0, 0), max_wait_ms=20, min_bytes=1_000_000)
    yield _fetch(version, first + 1, -1, (one, 0, 0))
    yield _fetch(version, first + 1, 2)


def _at_random(world: World, version: int, first: int) -> Steps:
    random = world.random
    places = [
        (world.one, 0),
        *((world.three, index) for index in range(4)),
        (world.stamped, 0),
        (world.never, 0),
    ]
    epochs = [1] * SESSIONS
    for _ in epochs:
        yield _fetch(version, None, 0, *((name, index, 0) for name, index in random.sample(places, 3)))
    for _ in range(RANDOM_STEPS // 4):
        asked = [
            (name, index, random.choice([0, 1, 3, 9, 9, 50]))
            for name, index in random.sample(places, random.randint(0, 3))
        ]
        if random.random() < 0.2:
            yield produce_step({random.choice(places[:4]): batch(random.randint(1, 3))})
            continue
        number = random.randrange(SESSIONS)
        right = random.random() < 0.9
        # A session that forgets its last partition ends: from then on the broker answers 70.
        epoch = epochs[number] if right else random.choice([5, 99])
        forget = tuple(random.sample(places, random.choice([0, 0, 1, 2])))
        yield _fetch(version, first + number, epoch, *asked, forget=forget)
        epochs[number] += right


def _with_a_topic_deleted(world: World, first: int) -> Steps:
    one, keyed = world.one, world.keyed
    yield _fetch(12, None, 0, (one, 0, 0), (keyed, 0, 0))
    yield _fetch(13, None, 0, (one, 0, 0), (keyed, 0, 0))
    yield Step(DeleteTopicsRequest(topic_names=[keyed], timeout_ms=10_000), 5)
    for epoch in (1, 2):
        yield _fetch(12, first, epoch)
        yield _fetch(13, first + 1, epoch)
    yield _fetch(13, None, -1, (keyed, 0, 0))
    yield _fetch(12, None, -1, (keyed, 0, 0))
    yield _fetch(13, first, 3)
    yield _fetch(12, first + 1, 3)
