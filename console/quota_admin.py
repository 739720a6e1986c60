"""Client quotas over Kafka's own requests, for `kawal quotas`."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from console.client import refusal
from console.errors import CommandError, UsageError
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest

VERSION: Final = 1

KEYS: Final = {
    "produce-bytes": "producer_byte_rate",
    "fetch-bytes": "consumer_byte_rate",
    "request-percent": "request_percentage",
    "topic-changes": "controller_mutation_rate",
    "connections": "connection_creation_rate",
}
"""The words of the command line for what is limited, each a rate a second but for the share."""

TYPES: Final = ("user", "client-id", "ip")

EXACT: Final = 0
DEFAULT: Final = 1
ANY: Final = 2

Entity = tuple[tuple[str, str | None], ...]
"""The parts of an entity, each a type and a name, None for the default."""


class Quotas(NamedTuple):
    """The quotas of an entity."""

    entity: Entity
    values: dict[str, float]
    """By Kafka's keys."""


def entity_text(entity: Entity) -> str:
    """Return an entity in words, such as "user alice, any client-id"."""
    return ", ".join(f"any {kind}" if name is None else f"{kind} {name}" for kind, name in entity)


def find(ask: Any, entity: Entity) -> list[Quotas]:
    """Return the quotas of all entities that have these parts, sorted.  Raises: CommandError.

    `ask(request, version)` sends a request.
    """
    components = [
        ComponentData(entity_type=kind, match_type=DEFAULT if name is None else EXACT, match=name)
        for kind, name in entity
    ]
    answer = ask(DescribeClientQuotasRequest(components=components, strict=False), VERSION)
    if answer.error_code:
        raise CommandError(f"quotas: {refusal(answer.error_code, answer.error_message or None)}")
    found = [
        Quotas(
            tuple((part.entity_type, part.entity_name) for part in entry.entity),
            {value.key: value.value for value in entry.values},
        )
        for entry in answer.entries or ()
    ]
    return sorted(found, key=lambda quotas: [(kind, name or "") for kind, name in quotas.entity])


def alter(ask: Any, entity: Entity, changes: dict[str, float | None]) -> None:
    """Set the quotas of an entity by Kafka's keys, or with None remove them.

    Raises: UsageError, CommandError.
    """
    if not entity:
        raise UsageError(
            "say whose quotas: --user NAME, --client-id NAME or --ip ADDRESS, or --default-user …"
        )
    entry = RequestEntryData(
        entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in changes.items()],
    )
    answer = ask(AlterClientQuotasRequest(entries=[entry], validate_only=False), VERSION)
    for result in answer.entries:
        if result.error_code:
            raise CommandError(
                f"quotas of {entity_text(entity)}: {refusal(result.error_code, result.error_message or None)}"
            )
