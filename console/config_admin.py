"""Requests that show and change configurations, for `kawal configs` and `kawal topics alter`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from console.admin import KINDS, address_of_node, ask, check
from console.errors import UsageError
from console.tables import table
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
)
from protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)

SET, DELETE, APPEND, SUBTRACT = range(4)

CLUSTER = "default"
"""The name users give to the settings of all brokers; on the wire it is the empty name."""

SOURCES = {
    1: "topic",
    2: "this broker, changed",
    3: "all brokers, changed",
    4: "broker's start",
    5: "default",
    6: "logger, changed",
    7: "client metrics",
    8: "group",
}
CHANGED = frozenset({1, 2, 3, 4, 6, 7, 8})
"""Sources of values that were set by a user."""

TYPES = ("unknown", "boolean", "string", "int", "short", "long", "double", "list", "class", "password")


class Resource(NamedTuple):
    """A resource by the names it has on the wire and for people, and the address to ask about it."""

    number: int
    name: str
    words: str
    bootstrap: str


def find_resource(bootstrap: str, kind: str, name: str | None) -> Resource:
    """Return what the user named.  Raises: UsageError, CommandError."""
    known = KINDS[kind]
    if kind == "broker" and name == CLUSTER:
        return Resource(known.number, "", "all brokers", bootstrap)
    if known.of_one_node:
        name, bootstrap = address_of_node(bootstrap, name)
    if name is None:
        raise UsageError(f"name the {kind}, for example: kawal configs describe {kind} NAME")
    return Resource(known.number, name, f"{known.word} {name!r}", bootstrap)


def describe(
    resource: Resource, keys: Sequence[str], *, synonyms: bool
) -> list[DescribeConfigsResourceResult]:
    """Return the configurations of a resource: all, or those named.  Raises: CommandError."""
    asked = DescribeConfigsResource(
        resource_type=resource.number, resource_name=resource.name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[asked], include_synonyms=synonyms, include_documentation=True)
    (result,) = ask(resource.bootstrap, request, 4).results
    check(result.error_code, result.error_message, resource.words)
    found: list[DescribeConfigsResourceResult] = sorted(result.configs, key=lambda config: config.name)
    return found


def changes_of(
    *, sets: Sequence[str], deletes: Sequence[str], appends: Sequence[str], subtracts: Sequence[str]
) -> list[AlterableConfig]:
    """Return the changes that options ask for.  Raises: UsageError for one that is not KEY=VALUE."""
    changes = [
        AlterableConfig(name=name, config_operation=operation, value=value)
        for option, operation, texts in (
            ("--set", SET, sets), ("--append", APPEND, appends), ("--subtract", SUBTRACT, subtracts),
        )
        for name, value in (key_and_value(option, text) for text in texts)
    ]  # fmt: skip
    changes += [AlterableConfig(name=name, config_operation=DELETE, value=None) for name in deletes]
    return changes


def key_and_value(option: str, text: str) -> tuple[str, str]:
    """Split KEY=VALUE.  Raises: UsageError."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise UsageError(f"{option} {text!r} is not KEY=VALUE")
    return name, value


def alter(resource: Resource, changes: list[AlterableConfig], *, dry_run: bool) -> None:
    """Make all the changes or none, or only check them.  Raises: CommandError with the broker's reason."""
    asked = AlterConfigsResource(resource_type=resource.number, resource_name=resource.name, configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[asked], validate_only=dry_run)
    (result,) = ask(resource.bootstrap, request, 1).responses
    check(result.error_code, result.error_message, resource.words)


def told(change: AlterableConfig) -> str:
    """Return a change in words."""
    return {
        SET: f"{change.name} = {change.value}",
        DELETE: f"{change.name} back to its default",
        APPEND: f"{change.name} + {change.value}",
        SUBTRACT: f"{change.name} - {change.value}",
    }[change.config_operation]


def tree(one: DescribeConfigsResourceResult) -> dict[str, Any]:
    """Return a configuration for programs."""
    return {
        "value": one.value,
        "source": SOURCES.get(one.config_source, str(one.config_source)),
        "type": TYPES[one.config_type] if 0 <= one.config_type < len(TYPES) else str(one.config_type),
        "read_only": one.read_only,
        "sensitive": one.is_sensitive,
        "documentation": one.documentation,
        "synonyms": [
            {"name": other.name, "value": other.value, "source": SOURCES.get(other.source, str(other.source))}
            for other in one.synonyms
        ],
    }


def as_table(configs: Sequence[DescribeConfigsResourceResult], *, synonyms: bool) -> str:
    """Return configurations for people."""
    headings = ("CONFIGURATION", "VALUE", "SOURCE", "CHANGED") + (("ELSEWHERE",) if synonyms else ())
    return table(headings, [tuple(_cells(config, synonyms=synonyms)) for config in configs])


def _cells(one: DescribeConfigsResourceResult, *, synonyms: bool) -> Iterator[str]:
    yield one.name
    yield "(hidden)" if one.is_sensitive else "(not set)" if one.value is None else one.value or "(empty)"
    yield SOURCES.get(one.config_source, str(one.config_source))
    yield "at start" if one.read_only else "running"
    if synonyms:
        yield ", ".join(f"{other.name}={other.value}" for other in one.synonyms)
