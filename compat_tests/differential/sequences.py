"""All sequences by name, made from a seed: the same seed gives the same requests, on every machine."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

from broker.handlers import APIS
from compat_tests.differential.steps import Step, Steps
from compat_tests.differential.themes import configs, offsets, producers, records, sessions, topics
from compat_tests.differential.wild import wild_step
from compat_tests.differential.world import World
from protocol.api_keys import ApiKey

WILD_EACH = 25
"""Wild requests of each API and version."""

THEMES: dict[str, Callable[[World], Steps]] = {
    "topics": topics.steps,
    "records": records.steps,
    "producers": producers.steps,
    "sessions": sessions.steps,
    "offsets": offsets.steps,
    "configs": configs.steps,
}

COVERED = (
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.LIST_OFFSETS,
    ApiKey.METADATA,
    ApiKey.FIND_COORDINATOR,
    ApiKey.API_VERSIONS,
    ApiKey.CREATE_TOPICS,
    ApiKey.DELETE_TOPICS,
    ApiKey.INIT_PRODUCER_ID,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.DESCRIBE_CONFIGS,
    ApiKey.ALTER_CONFIGS,
    ApiKey.INCREMENTAL_ALTER_CONFIGS,
    ApiKey.CREATE_PARTITIONS,
    ApiKey.DESCRIBE_CLUSTER,
    ApiKey.DELETE_RECORDS,
    ApiKey.DESCRIBE_ACLS,
    ApiKey.CREATE_ACLS,
    ApiKey.DELETE_ACLS,
    ApiKey.ALTER_REPLICA_LOG_DIRS,
    ApiKey.DESCRIBE_LOG_DIRS,
    ApiKey.ELECT_LEADERS,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS,
    ApiKey.LIST_PARTITION_REASSIGNMENTS,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.DESCRIBE_QUORUM,
    ApiKey.DESCRIBE_PRODUCERS,
    ApiKey.LIST_CONFIG_RESOURCES,
    ApiKey.DESCRIBE_TOPIC_PARTITIONS,
)
"""The APIs whose wild requests are recorded; `--all` sends those of every API that is served."""


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
