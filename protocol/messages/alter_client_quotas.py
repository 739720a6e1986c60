"""AlterClientQuotas (49): set quotas."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Float64, Int16, Int32, String, message, struct, wire


@struct
class EntityData:
    """One part of an entity."""

    entity_type: str = wire(String)
    entity_name: str | None = wire(String, nullable="0+")  # null: the default


@struct
class OpData:
    """A quota to set or remove."""

    key: str = wire(String)
    value: float = wire(Float64)
    remove: bool = wire(Bool)


@struct
class RequestEntryData:
    """The changes to one entity."""

    entity: list[EntityData] = wire(ArrayOf(EntityData))
    ops: list[OpData] = wire(ArrayOf(OpData))


@message(api=ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class AlterClientQuotasRequest:
    """A request to set or remove quotas of entities.

    Source: KIP-546.
    """

    entries: list[RequestEntryData] = wire(ArrayOf(RequestEntryData))
    validate_only: bool = wire(Bool)


@struct
class ResponseEntryData:
    """The outcome for one entity."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    entity: list[EntityData] = wire(ArrayOf(EntityData))


@message(api=ApiKey.ALTER_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class AlterClientQuotasResponse:
    """The outcome for each entity.

    Source: KIP-546.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    entries: list[ResponseEntryData] = wire(ArrayOf(ResponseEntryData))
