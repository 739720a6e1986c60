"""Client quotas: the entities that have them, their keys, and which of them is in effect for a client.

An entity is made of parts, each a type and a name, or None for the default of its type:

    user            alone, or with client-id         client-id    alone              ip    alone

For a client with user u and client id c, the first of these that has a quota of the key decides:

    (u, c)   (u, default)   (u)   (default, c)   (default, default)   (default)   client c   client default

What decides by user and client id counts for each pair by itself; by user alone, for all clients of a user.
Source: KIP-13, KIP-124, KIP-546, KIP-599, KIP-612; Kafka 4.3's ClientQuotaControlManager, ClientQuotaManager.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Final

from broker.errors import RequestError
from protocol.error_codes import ErrorCode

USER: Final = "user"
CLIENT_ID: Final = "client-id"
IP: Final = "ip"
TYPES: Final = (USER, CLIENT_ID, IP)

PRODUCE_RATE: Final = "producer_byte_rate"
FETCH_RATE: Final = "consumer_byte_rate"
REQUEST_SHARE: Final = "request_percentage"
MUTATION_RATE: Final = "controller_mutation_rate"
CONNECTION_RATE: Final = "connection_creation_rate"

CLIENT_KEYS: Final = frozenset({PRODUCE_RATE, FETCH_RATE, REQUEST_SHARE, MUTATION_RATE})
IP_KEYS: Final = frozenset({CONNECTION_RATE})

INTEGERS: Final = {
    PRODUCE_RATE: ("a LONG", 2**63 - 1),
    FETCH_RATE: ("a LONG", 2**63 - 1),
    CONNECTION_RATE: ("an INT", 2**31 - 1),
}
"""The keys whose values are whole numbers: the name of their type in Kafka, and its greatest value."""

FRACTION_MAX: Final = 1e-6
"""A whole number may be off by so much: clients send all values as float64."""

Part = tuple[str, str | None]
Entity = tuple[Part, ...]
"""The parts of an entity in the order of their types."""


def entity_of(parts: Iterable[Part]) -> Entity:
    """Return an entity of these parts; of two of one type, the last counts, as in Kafka.

    Raises: RequestError, with INVALID_REQUEST.
    """
    found: dict[str, str | None] = {}
    for kind, name in parts:
        if kind not in TYPES:
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        found[kind] = name
    if not found:
        raise _invalid("Invalid empty client quota entity")
    if IP in found and len(found) > 1:
        raise _invalid(
            "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        )
    return tuple(sorted(found.items()))


def check_value(entity: Entity, key: str, value: float) -> None:
    """Check that the entity may have this quota.

    Raises: RequestError, with INVALID_REQUEST.
    """
    if key not in (IP_KEYS if entity[0][0] == IP else CLIENT_KEYS):
        raise _invalid(f"Invalid configuration key {key}")
    if math.isnan(value):
        raise _invalid(f"Quota {key} must be a number")
    if value <= 0:
        raise _invalid(f"Quota {key} must be greater than 0")
    if key in INTEGERS:
        kind, greatest = INTEGERS[key]
        if value > greatest:
            raise _invalid(f"Proposed value for {key} is too large for {kind}.")
        if abs(value - round(value)) > FRACTION_MAX:
            raise _invalid(f"{key} cannot be a fractional value.")


def _invalid(message: str) -> RequestError:
    return RequestError(ErrorCode.INVALID_REQUEST, message)


Counted = tuple[str, str]
"""Whose use is counted together: a user and a client id, either "" if all of them are."""


def levels(user: str, client_id: str) -> Iterator[tuple[Entity, Counted]]:
    """Yield the entities that may decide for a client, the first that counts first, and whose use counts."""
    for name in (user, None):
        for client in (client_id, None):
            yield ((CLIENT_ID, client), (USER, name)), (user, client_id)
        yield ((USER, name),), (user, "")
    for client in (client_id, None):
        yield ((CLIENT_ID, client),), ("", client_id)
