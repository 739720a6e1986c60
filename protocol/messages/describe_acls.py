"""DescribeAcls (29): read access rules."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@message(api=ApiKey.DESCRIBE_ACLS, versions="1-3", flexible="2+")
class DescribeAclsRequest:
    """A request for the rules that match a filter.

    Source: KIP-140, KIP-290 (v1 patterns), KIP-373 (v3 users).
    """

    resource_type_filter: int = wire(Int8)
    resource_name_filter: str | None = wire(String, nullable="0+")  # null: any
    pattern_type_filter: int = wire(Int8, default=3)  # 1: any, 2: match, 3: literal, 4: prefixed
    principal_filter: str | None = wire(String, nullable="0+")  # null: any
    host_filter: str | None = wire(String, nullable="0+")  # null: any
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@struct
class AclDescription:
    """A rule."""

    principal: str = wire(String)
    host: str = wire(String)
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@struct
class DescribeAclsResource:
    """The rules of one resource."""

    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    pattern_type: int = wire(Int8, default=3)
    acls: list[AclDescription] = wire(ArrayOf(AclDescription))


@message(api=ApiKey.DESCRIBE_ACLS, versions="1-3", flexible="2+")
class DescribeAclsResponse:
    """The rules, by resource.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    resources: list[DescribeAclsResource] = wire(ArrayOf(DescribeAclsResource))
