"""Listings of configs of every kind of resource, before and after changes."""

from __future__ import annotations

from compat_tests.differential.pools import CONFIGS
from compat_tests.differential.steps import Step, Steps
from compat_tests.differential.world import World
from protocol.messages import alter_configs as replace_configs
from protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3


def steps(world: World) -> Steps:
    """Return the whole theme."""
    yield from world.create()
    yield from _listed(world)
    yield from _wrongly_named(world)
    yield from _changed(world)


def describe(*resources: tuple[int, str, list[str] | None], version: int = 4, **fields: bool) -> Step:
    """Ask for resources by kind, name and keys."""
    asked = [
        DescribeConfigsResource(resource_type=kind, resource_name=name, configuration_keys=keys)
        for kind, name, keys in resources
    ]
    return Step(DescribeConfigsRequest(resources=asked, **fields), version)


def alter(
    *resources: tuple[int, str, list[tuple[str, int, str | None]]], version: int = 1, only: bool = False
) -> Step:
    """Change configs of resources, each by key, operation and value."""
    asked = [
        AlterConfigsResource(
            resource_type=kind,
            resource_name=name,
            configs=[
                AlterableConfig(name=key, config_operation=how, value=value) for key, how, value in changes
            ],
        )
        for kind, name, changes in resources
    ]
    return Step(IncrementalAlterConfigsRequest(resources=asked, validate_only=only), version)


def _listed(world: World) -> Steps:
    for version in (1, 3, 4):
        for kind, name in ((TOPIC, world.one), (TOPIC, world.keyed), (BROKER, "1"), (BROKER, "")):
            documented = {"include_documentation": True} if version >= 3 else {}
            yield describe((kind, name, None), version=version, include_synonyms=True, **documented)
            yield describe((kind, name, []), version=version)
    for kind in (TOPIC, BROKER):
        name = world.one if kind == TOPIC else "1"
        yield describe((kind, name, ["no.such.key", "retention.ms", "num.partitions", "retention.ms"]))
    yield describe((GROUP, "a group", None), include_synonyms=True, include_documentation=True)
    yield describe((METRICS, "a subscription", None), include_synonyms=True)


def _wrongly_named(world: World) -> Steps:
    for kind in (-1, 0, 1, 3, 5, 64, 127, LOGGER, METRICS, GROUP):
        for name in ("", "1", "2", "x", world.one):
            keys: list[str] | None = ["no.such.key"]
            yield describe((kind, name, keys))
            yield describe((TOPIC, world.one, keys), (kind, name, keys))
    for name in (*world.names(), "1", "2", "-1", "01", " 1"):
        for kind in (TOPIC, BROKER):
            yield describe((kind, name, ["retention.ms"]))
    yield describe(
        (TOPIC, world.one, ["flush.ms"]), (TOPIC, world.one, ["flush.ms"]), (TOPIC, world.never, None)
    )
    yield describe()


def _changed(world: World) -> Steps:
    for number, (key, value) in enumerate(CONFIGS):
        yield alter((TOPIC, world.three, [(key, SET, value)]), version=number % 2, only=True)
    for key, how, value in [
        ("cleanup.policy", APPEND, "compact"),
        ("cleanup.policy", APPEND, "compact"),
        ("cleanup.policy", SUBTRACT, "delete"),
        ("cleanup.policy", SUBTRACT, "compact"),
        ("cleanup.policy", SUBTRACT, "nothing"),
        ("cleanup.policy", DELETE, None),
        ("flush.ms", SET, "5"),
        ("flush.ms", DELETE, "whatever"),
        ("flush.ms", DELETE, None),
        ("flush.ms", APPEND, "6"),
        ("flush.ms", SET, None),
        ("no.such.key", DELETE, None),
        ("leader.replication.throttled.replicas", APPEND, "0:1"),
        ("leader.replication.throttled.replicas", APPEND, "1:1,0:1"),
        ("leader.replication.throttled.replicas", SUBTRACT, "0:1"),
        ("flush.ms", 4, "1"),
    ]:
        yield alter((TOPIC, world.three, [(key, how, value)]))
        yield describe((TOPIC, world.three, [key]), include_synonyms=True)
    for name in (world.one, f"{world.prefix} blank"):
        yield alter((TOPIC, name, [("retention.ms", APPEND, "1"), ("preallocate", 4, "true")]))
    yield alter(
        (TOPIC, world.one, [("flush.ms", SET, "1")]),
        (TOPIC, world.three, [("preallocate", 9, "x")]),
        only=True,
    )
    everyone = replace_configs.AlterConfigsResource(resource_type=BROKER, resource_name="", configs=[])
    yield Step(replace_configs.AlterConfigsRequest(resources=[everyone], validate_only=True), 2)
    yield alter((BROKER, "1", [("no.such.key", SET, "1"), ("compression.zstd.level", SET, "23")]))
    yield alter((TOPIC, world.one, [("flush.ms", SET, "1"), ("flush.ms", SET, "2")]))
    yield alter((TOPIC, world.one, [("flush.ms", SET, "1"), ("no.such.key", SET, "2")]))
    yield alter((TOPIC, world.one, []), (TOPIC, world.never, [("flush.ms", SET, "1")]), (TOPIC, "", []))
    yield alter((TOPIC, world.one, [("flush.ms", SET, "7")]), (TOPIC, world.one, [("flush.ms", SET, "8")]))
    yield describe((TOPIC, world.one, ["flush.ms"]))
