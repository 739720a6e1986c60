"""DescribeClientQuotas: v0-1.

Behaviour: the entities that have all the parts that the filter names, and with `strict` no others, with their
quotas.
Differences from Apache Kafka: entities come in the order in which they were first given quotas.
Version notes: v1 flexible.  Source: KIP-546, KIP-612 (ip).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.catalogue.quota_table import Entity, Values
from broker.errors import RequestError
from broker.loop.call import Call, Parked
from broker.loop.slices import Steps, in_slices, made_of
from protocol.error_codes import ErrorCode
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

if TYPE_CHECKING:
    from broker.core import Broker

EXACT: Final = 0
ANY: Final = 2
MATCH_TYPES: Final = {EXACT: "MATCH_TYPE_EXACT", 1: "MATCH_TYPE_DEFAULT", 2: "MATCH_TYPE_SPECIFIED"}
IP: Final = "ip"
ENTITY_TYPES: Final = ("user", "client-id", IP)


ENTITIES_PER_SLICE: Final = 1_000
"""The entities that are looked at without a pause: about 1 ms."""


def handle(
    broker: Broker, call: Call[DescribeClientQuotasRequest]
) -> DescribeClientQuotasResponse | Parked | Steps:
    """Find the quotas, or report what is wrong with the filter."""
    try:
        _check(call.request.components)
    except RequestError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    known = broker.catalogue.quotas.values
    answer: DescribeClientQuotasResponse | Parked | Steps = in_slices(
        _find(list(known.items()), call.request), len(known), per_slice=ENTITIES_PER_SLICE
    )
    return answer


def _find(known: list[tuple[Entity, Values]], request: DescribeClientQuotasRequest) -> Steps:
    def entry_of(item: tuple[Entity, Values]) -> EntryData | None:
        entity, values = item
        if not _matches(entity, request):
            return None
        return EntryData(
            entity=[EntityData(entity_type=kind, entity_name=name) for kind, name in entity],
            values=[ValueData(key=key, value=value) for key, value in values.items()],
        )

    entries = yield from made_of(known, entry_of, per_step=200)
    found = [entry for entry in entries if entry is not None]
    return DescribeClientQuotasResponse(error_message="", entries=found)


def _matches(entity: Entity, request: DescribeClientQuotasRequest) -> bool:
    parts = dict(entity)
    if request.strict and len(parts) != len(request.components):
        return False
    return all(
        component.entity_type in parts
        and (component.match_type == ANY or parts[component.entity_type] == component.match)
        for component in request.components
    )


def _check(components: list[ComponentData]) -> None:
    seen: set[str] = set()
    for component in components:
        kind = component.entity_type
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in seen:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in ENTITY_TYPES:
            raise RequestError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        seen.add(kind)
        _check_match(component)
    if IP in seen and len(seen) > 1:
        raise _invalid(
            "Invalid entity filter component combination. IP filter component should not be used with user or"
            " clientId filter component."
        )


def _check_match(component: ComponentData) -> None:
    kind, given = component.match_type, component.match is not None
    if kind not in MATCH_TYPES:
        raise _invalid(f"Unknown match type {kind}")
    if kind == EXACT and not given:
        raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
    if kind != EXACT and given:
        raise _invalid(f"Request specified {MATCH_TYPES[kind]}, but also specified a match string.")


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, message)
