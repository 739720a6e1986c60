"""DescribeClientQuotas: v0-1.

Behaviour: there are no quotas, so every valid filter finds none; filters are checked as in Kafka.
Differences from Apache Kafka: none known; quotas cannot be set here.
Version notes: v1 flexible.  Source: KIP-546, KIP-612 (ip).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from broker.errors import RequestError
from broker.loop.call import Call
from protocol.error_codes import ErrorCode
from protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker

EXACT: Final = 0
MATCH_TYPES: Final = {EXACT: "MATCH_TYPE_EXACT", 1: "MATCH_TYPE_DEFAULT", 2: "MATCH_TYPE_SPECIFIED"}
IP: Final = "ip"
ENTITY_TYPES: Final = ("user", "client-id", IP)


def handle(_broker: Broker, call: Call[DescribeClientQuotasRequest]) -> DescribeClientQuotasResponse:
    """Find no quota, or report what is wrong with the filter."""
    try:
        _check(call.request.components)
    except RequestError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    return DescribeClientQuotasResponse(error_message="", entries=[])


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
