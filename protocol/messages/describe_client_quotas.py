"""DescribeClientQuotas (48): read quotas."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Bool, Float64, Int8, Int16, Int32, String, message, struct, wire


@struct
class ComponentData:
    """A condition on one part of an entity."""

    entity_type: str = wire(String)
    match_type: int = wire(Int8)  # 0: this name, 1: the default, 2: any name
    match: str | None = wire(String, nullable="0+")


@message(api=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest:
    """A request for the quotas of matching entities.

    Source: KIP-546.
    """

    components: list[ComponentData] = wire(ArrayOf(ComponentData))
    strict: bool = wire(Bool)  # only entities that have no further parts


@struct
class EntityData:
    """One part of an entity."""

    entity_type: str = wire(String)
    entity_name: str | None = wire(String, nullable="0+", default=None)  # null: the default


@struct
class ValueData:
    """A quota."""

    key: str = wire(String)
    value: float = wire(Float64)


@struct
class EntryData:
    """The quotas of one entity."""

    entity: list[EntityData] = wire(ArrayOf(EntityData))
    values: list[ValueData] = wire(ArrayOf(ValueData))


@message(api=ApiKey.DESCRIBE_CLIENT_QUOTAS, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse:
    """The quotas, by entity.

    Source: KIP-546.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    entries: list[EntryData] | None = wire(ArrayOf(EntryData), nullable="0+", default=None)
