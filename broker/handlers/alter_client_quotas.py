"""AlterClientQuotas: v0-1.

Behaviour: sets and removes quotas of users, client ids, both, and addresses; the answer leaves when the
changes are durable, and they are in effect from then on, for open connections, too.  An entity that is named
twice is changed by its first entry, and refused.
Differences from Apache Kafka: a quota that is not a number is refused (Kafka stores it); names of hosts are
not looked up, so that an ip entity is an address.
Version notes: v1 flexible.  Source: KIP-546, KIP-612 (ip).
"""

from __future__ import annotations

from functools import partial
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from broker.catalogue.quota_table import record_of
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Pace, WaitingSteps, begun, emptied, in_thread
from broker.security.quotas import CLIENT_KEYS, IP, IP_KEYS, Entity, check_value, entity_of
from protocol.error_codes import ErrorCode
from protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    RequestEntryData,
    ResponseEntryData,
)

if TYPE_CHECKING:
    from broker.core import Broker

ENTRIES_PER_STEP: Final = 10
"""The entries that are changed between two looks at the time: about 0.4 ms."""

PARTS_AT_ONCE: Final = 100
"""The parts of one entity, and its quotas, that are looked at without a pause; a thread looks at more."""

Answer: TypeAlias = AlterClientQuotasResponse | Parked | WaitingSteps


class Asked(NamedTuple):
    """An entry of the request."""

    parts: dict[str, str | None]
    """The entity: its names by their types."""
    named: list[EntityData]
    key: object
    """The same entity has the same one."""
    repeats: bool
    """Whether a quota is named twice."""
    ops: list[OpData]
    """The changes that may change anything."""


def handle(broker: Broker, call: Call[AlterClientQuotasRequest]) -> Answer:
    """Change the quotas of every entity that is named, or with `validate_only` answer what would happen."""
    answer: Answer = begun(_alter_all(broker, call))
    return answer


def _alter_all(broker: Broker, call: Call[AlterClientQuotasRequest]) -> WaitingSteps:
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    results: dict[object, ResponseEntryData] = {}

    def alter(entry: RequestEntryData, asked: Asked) -> None:
        known = results.get(asked.key)
        try:
            if known is not None:
                raise _repeated(asked.parts)
            entity = entity_of(asked.parts.items())
            if asked.repeats:
                raise _repeated(asked.parts)
            _alter(broker, call, entity, asked, has_ops=bool(entry.ops))
        except RequestError as error:
            if known is None:
                known = results[asked.key] = ResponseEntryData(entity=asked.named)
            known.error_code, known.error_message = error.code, error.message
            return
        result = results[asked.key] = ResponseEntryData(entity=asked.named)
        if not call.request.validate_only and entry.ops:
            pending.made(result)

    pace = Pace(ENTRIES_PER_STEP)
    for entry in call.request.entries:
        if len(entry.entity) + len(entry.ops) <= PARTS_AT_ONCE:
            asked = _asked(entry)
        else:
            asked = yield from in_thread(broker.scheduler.offload, partial(_asked, entry))
        alter(entry, asked)
        if pace.due():
            yield None
    entries = list(results.values())
    yield from emptied(results)
    return pending.answer(AlterClientQuotasResponse(entries=entries))


def _asked(entry: RequestEntryData) -> Asked:
    parts = {part.entity_type: part.entity_name for part in entry.entity}
    return Asked(
        parts,
        [EntityData(entity_type=kind, entity_name=name) for kind, name in parts.items()],
        frozenset(parts.items()),
        len({op.key for op in entry.ops}) < len(entry.ops),
        # What no entity has needs not be removed.
        [op for op in entry.ops if not op.remove or op.key in CLIENT_KEYS or op.key in IP_KEYS],
    )


def _alter(
    broker: Broker, call: Call[AlterClientQuotasRequest], entity: Entity, asked: Asked, *, has_ops: bool
) -> None:
    """Change the quotas of one entity.  Raises: RequestError."""
    _check_address(asked.parts)
    values = dict(broker.catalogue.quotas.of(entity))
    for op in asked.ops:
        if op.remove:
            values.pop(op.key, None)
        else:
            check_value(entity, op.key, op.value)
            values[op.key] = op.value
    if has_ops and not call.request.validate_only:
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
