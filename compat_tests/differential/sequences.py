"""All sequences by name, made from a seed: the same seed gives the same requests, on every machine."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

from broker.handlers import APIS
from compat_tests.differential.steps import Step, Steps
from compat_tests.differential.themes import configs, offsets, producers, records, sessions, topics
from compat_tests.differential.wild import wild_step
from compat_tests.differential.world import World
from protocol.api_keys import ApiKey

WILD_EACH = 8
"""Wild requests of each API and version."""

THEMES: dict[str, Callable[[World], Steps]] = {
    "topics": topics.steps,
    "records": records.steps,
    "producers": producers.steps,
    "sessions": sessions.steps,
    "offsets": offsets.steps,
    "configs": configs.steps,
}

NOT_WILD = frozenset[ApiKey]()
"""APIs whose wild requests would say nothing, or change more than the topics of their sequence."""


class Sequence(NamedTuple):
    """Requests to be sent one after the other; all their topics begin with `prefix`."""

    name: str
    prefix: str
    steps: list[Step]


def names() -> list[str]:
    """Return the names of all sequences: the themes, then `wild-…` for every API that is served."""
    served = [ApiKey(key) for key in sorted(APIS) if key not in NOT_WILD]
    return [*THEMES, *(f"wild-{api.name.lower().replace('_', '-')}" for api in served)]


def sequence(name: str, seed: int, wild_each: int = WILD_EACH) -> Sequence:
    """Make one sequence."""
    prefix = f"{name}{seed}"
    world = World(prefix, Random(f"{name} {seed}"))
    if name in THEMES:
        return Sequence(name, prefix, list(THEMES[name](world)))
    api = ApiKey[name.removeprefix("wild-").replace("-", "_").upper()]
    steps = [*world.create(), *world.fill()]
    served = APIS[api]
    for version in range(served.minimum, served.maximum + 1):
        steps += [wild_step(api, version, world) for _ in range(wild_each)]
    return Sequence(name, prefix, steps)
