"""All sequences by name, made from a seed: the same seed gives the same requests, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from broker.handlers import APIS, OF_NODES
from compat_tests.differential.steps import Step, Steps
from compat_tests.differential.themes import (
    classic_groups,
    configs,
    consumer_groups,
    offsets,
    producers,
    quotas,
    records,
    sessions,
    topics,
    transactions,
    users,
)
from compat_tests.differential.wild import wild_step
from compat_tests.differential.world import World
from protocol.api_keys import PRIVATE_FROM, ApiKey

WILD_EACH = 25
"""Wild requests of each API and version."""

THEMES: dict[str, Callable[[World], Steps]] = {
    "topics": topics.steps,
    "records": records.steps,
    "producers": producers.steps,
    "sessions": sessions.steps,
    "offsets": offsets.steps,
    "configs": configs.steps,
    "classic-groups": classic_groups.steps,
    "consumer-groups": consumer_groups.steps,
    "users": users.steps,
    "quotas": quotas.steps,
    "transactions": transactions.steps,
}

UNORDERED = frozenset(
    {
        ApiKey.WRITE_TXN_MARKERS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
        ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    }
)
"""APIs whose wild answers cannot be compared: Kafka answers the first and the last two in the order of a
hash, and some of their requests never; the second lists the transactions of all sequences. The theme of
transactions has the first two, compat_tests/test_raw_share.py the others."""

COVERED = tuple(ApiKey(key) for key in sorted(APIS) if key < PRIVATE_FROM and key not in UNORDERED | OF_NODES)
"""The APIs that get wild requests: all that Kafka has too, and answers in an order."""


class Sequence(NamedTuple):
    """Requests to be sent one after the other; all their topics begin with `prefix`."""

    name: str
    prefix: str
    steps: list[Step]


def names(apis: Iterable[ApiKey] = COVERED) -> list[str]:
    """Return the names of all sequences: the themes, then `wild-…` for every API."""
    return [*THEMES, *(f"wild-{api.name.lower().replace('_', '-')}" for api in apis)]


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
