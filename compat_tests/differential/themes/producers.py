"""Idempotent producers: in order, again, too early, too late, with wrong epochs, over the last sequence."""

from __future__ import annotations

from compat_tests.batches import Batch
from compat_tests.differential.pools import INT32_MAX
from compat_tests.differential.steps import Step, Steps, producer
from compat_tests.differential.world import World, batch, produce_step
from compat_tests.requests import fetch_request
from protocol.messages.init_producer_id import InitProducerIdRequest

PRODUCERS = 4
RANDOM_STEPS = 120


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    for version in range(6):
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        yield Step(request, version)
    yield from _one_after_the_other(world)
    yield from _at_random(world)
    yield Step(fetch_request(world.one, 0), 12)
    yield Step(fetch_request(world.stamped, 0), 12)


def _stamped(number: int, epoch: int, sequence: int, count: int = 1) -> Batch:
    made = batch(count, number)
    return made.but(producer_id=producer(number), producer_epoch=epoch, base_sequence=sequence)


def _one_after_the_other(world: World) -> Steps:
    sent = [
        *((0, 0, 0), (0, 0, 1), (0, 0, 0), (0, 0, 3), (0, 0, 2), (0, 1, 3), (0, 1, 0), (0, 0, 1)),
        *((0, 1, 2), (0, 1, 1), (0, 3, 0), (0, 2, 1), (0, -1, 0), (0, 3, -1), (0, 3, -2)),
        *((1, 0, 5), (1, 0, 6), (1, 0, 0), (1, 0, INT32_MAX), (2, 0, INT32_MAX), (2, 0, 0), (2, 0, 1)),
        *((2, 32767, 0), (2, 0, 2)),
    ]
    for number, epoch, sequence in sent:
        yield produce_step({(world.one, 0): _stamped(number, epoch, sequence)})
    yield produce_step({(world.three, 0): _stamped(3, 0, INT32_MAX - 1, count=3)})
    yield produce_step({(world.three, 0): _stamped(3, 0, 1, count=2)})
    yield produce_step({(world.three, 0): _stamped(3, 0, INT32_MAX - 1, count=3)})
    for sequence in (0, 1, 2, 3, 4, 5, 6, 6, 2, 1, 0, 7):
        yield produce_step(
            {(world.three, 1): _stamped(0, 5, sequence), (world.stamped, 0): _stamped(0, 5, 9)}
        )
    yield produce_step({(world.stamped, 0): _stamped(3, 0, 0, count=3)})
    yield produce_step({(world.stamped, 0): _stamped(3, 0, 0, count=3)})
    yield produce_step({(world.stamped, 0): _stamped(3, 0, 1, count=2)})
    yield produce_step({(world.stamped, 0): _stamped(3, 0, 0, count=2)})
    yield produce_step({(world.stamped, 0): _stamped(3, 0, 2, count=2)})


def _at_random(world: World) -> Steps:
    random = world.random
    next_sequence = dict.fromkeys(range(PRODUCERS), 0)
    for _ in range(RANDOM_STEPS):
        number, count = random.randrange(PRODUCERS), random.randint(1, 3)
        off = random.choice([0, 0, 0, 0, 0, -count, 1, -1, 3, -6])
        epoch = random.choice([10, 10, 10, 10, 10, 9, 11])
        made = _stamped(number, epoch, max(0, next_sequence[number] + off), count)
        next_sequence[number] += count if off == 0 else 0
        yield produce_step({(world.three, 2): made}, version=random.randint(3, 12))
