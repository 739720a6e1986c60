"""CreateAcls (30): add access rules."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@struct
class AclCreation:
    """A rule to add."""

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    resource_pattern_type: int = wire(Int8, default=3)  # 3: literal, 4: prefixed
    principal: str = wire(String)
    host: str = wire(String)
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@message(api=ApiKey.CREATE_ACLS, versions="1-3", flexible="2+")
class CreateAclsRequest:
    """A request to add rules.

    Source: KIP-140, KIP-290 (v1 patterns), KIP-373 (v3 users).
    """

    creations: list[AclCreation] = wire(ArrayOf(AclCreation))


@struct
class AclCreationResult:
    """The outcome for one rule."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)


@message(api=ApiKey.CREATE_ACLS, versions="1-3", flexible="2+")
class CreateAclsResponse:
    """The outcome for each rule, in order.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    results: list[AclCreationResult] = wire(ArrayOf(AclCreationResult))
