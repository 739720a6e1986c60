"""Short forms of the requests that tests of quotas send."""

from __future__ import annotations

from typing import Any

from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    EntityData,
    OpData,
    RequestEntryData,
)
from protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from tests.broker.gateway import Client

Parts = dict[str, str | None]


def entry(entity: Parts, *ops: tuple[str, float | None]) -> RequestEntryData:
    """Return the changes of an entity; a value of None removes."""
    parts = [
        EntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in entity.items()
    ]
    changes = [OpData(key=key, value=value or 0.0, remove=value is None) for key, value in ops]
    return RequestEntryData(entity=parts, ops=changes)


def alter_all(client: Client, *entries: RequestEntryData, validate_only: bool = False) -> list[Any]:
    """Change entities; return the results."""
    request = AlterClientQuotasRequest(entries=list(entries), validate_only=validate_only)
    results: list[Any] = client.call(request, 1).entries
    return results


def alter(client: Client, entity: Parts, *ops: tuple[str, float | None]) -> list[Any]:
    """Change one entity; return the results."""
    return alter_all(client, entry(entity, *ops))


def describe(
    client: Client, *components: tuple[str, int, str | None], strict: bool = False
) -> list[tuple[Parts, dict[str, float]]]:
    """Return the entities with their quotas that a filter finds."""
    wanted = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in components]
    answer = client.call(DescribeClientQuotasRequest(components=wanted, strict=strict), 1)
    assert answer.error_code == 0, answer
    return [
        (
            {part.entity_type: part.entity_name for part in found.entity},
            {value.key: value.value for value in found.values},
        )
        for found in answer.entries
    ]
