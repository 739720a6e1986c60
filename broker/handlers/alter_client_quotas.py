"""AlterClientQuotas: v0-1.

Behaviour: sets and removes quotas of users, client ids, both, and addresses; the answer leaves when the
changes are durable, and they are in effect from then on, for open connections, too.  An entity that is named
twice is changed by its first entry, and refused.
Differences from Apache Kafka: a quota that is not a number is refused (Kafka stores it); names of hosts are
not looked up, so that an ip entity is an address.
Version notes: v1 flexible.  Source: KIP-546, KIP-612 (ip).
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, TypeAlias

from broker.catalogue.quota_table import record_of
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Steps, in_slices, made_of
from broker.security.quotas import IP, Entity, check_value, entity_of
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    RequestEntryData,
    ResponseEntryData,
)

if TYPE_CHECKING:
    from broker.core import Broker

ENTRIES_PER_SLICE = 50
"""The entries that are changed without a pause: about 2 ms."""


Answer: TypeAlias = AlterClientQuotasResponse | Parked | Steps


def handle(broker: Broker, call: Call[AlterClientQuotasRequest]) -> Answer:
    """Change the quotas of every entity that is named, or with `validate_only` answer what would happen."""
    answer: Answer = in_slices(
        _alter_all(broker, call), len(call.request.entries), per_slice=ENTRIES_PER_SLICE
    )
    return answer


def _alter_all(broker: Broker, call: Call[AlterClientQuotasRequest]) -> Steps:
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    results: dict[object, ResponseEntryData] = {}

    def alter(entry: RequestEntryData) -> None:
        parts = {part.entity_type: part.entity_name for part in entry.entity}
        named = [EntityData(entity_type=kind, entity_name=name) for kind, name in parts.items()]
        key = tuple(sorted(parts.items(), key=str))
        known = results.get(key)
        try:
            if known is not None:
                raise _repeated(parts)
            _alter(broker, call, entity_of(parts.items()), entry, parts)
        except RequestError as error:
            if known is None:
                known = results[key] = ResponseEntryData(entity=named)
            known.error_code, known.error_message = error.code, error.message
            return
        results[key] = ResponseEntryData(entity=named)
        if not call.request.validate_only and entry.ops:
            pending.made(results[key])

    yield from made_of(call.request.entries, alter, per_step=10)
    return pending.answer(AlterClientQuotasResponse(entries=list(results.values())))


def _alter(
    broker: Broker,
    call: Call[AlterClientQuotasRequest],
    entity: Entity,
    entry: RequestEntryData,
    parts: dict[str, str | None],
) -> None:
    """Change the quotas of one entity.  Raises: RequestError."""
    if len({op.key for op in entry.ops}) < len(entry.ops):
        raise _repeated(parts)
    _check_address(parts)
    values = dict(broker.catalogue.quotas.of(entity))
    for op in entry.ops:
        if op.remove:
            values.pop(op.key, None)
        else:
            check_value(entity, op.key, op.value)
            values[op.key] = op.value
    if entry.ops and not call.request.validate_only:
        broker.metadata_log.append(record_of(entity, values), call.received_ms)


def _check_address(parts: dict[str, str | None]) -> None:
    address = parts.get(IP)
    if address is None:
        return
    try:
        ip_address(address)
    except ValueError:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"{address} is not a valid IP or resolvable host."
        ) from None


def _repeated(parts: dict[str, str | None]) -> RequestError:
    names = ", ".join(f"{kind}={name}" for kind, name in parts.items())
    return RequestError(
        ErrorCode.INVALID_REQUEST, f"Ignoring duplicate entity ClientQuotaEntity(entries={{{names}}})"
    )
