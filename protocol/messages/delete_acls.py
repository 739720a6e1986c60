"""DeleteAcls (31): remove access rules."""

from __future__ import annotations

from protocol.api_keys import ApiKey
from protocol.wire import ArrayOf, Int8, Int16, Int32, String, message, struct, wire


@struct
class DeleteAclsFilter:
    """A filter for the rules to remove."""

    resource_type_filter: int = wire(Int8)
    resource_name_filter: str | None = wire(String, nullable="0+")
    pattern_type_filter: int = wire(Int8, default=3)
    principal_filter: str | None = wire(String, nullable="0+")
    host_filter: str | None = wire(String, nullable="0+")
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@message(api=ApiKey.DELETE_ACLS, versions="1-3", flexible="2+")
class DeleteAclsRequest:
    """A request to remove the rules that match some filters.

    Source: KIP-140, KIP-290 (v1 patterns), KIP-373 (v3 users).
    """

    filters: list[DeleteAclsFilter] = wire(ArrayOf(DeleteAclsFilter))


@struct
class DeleteAclsMatchingAcl:
    """A rule that was removed, or why not."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    resource_type: int = wire(Int8)
    resource_name: str = wire(String)
    pattern_type: int = wire(Int8, default=3)
    principal: str = wire(String)
    host: str = wire(String)
    operation: int = wire(Int8)
    permission_type: int = wire(Int8)


@struct
class DeleteAclsFilterResult:
    """The outcome for one filter."""

    error_code: int = wire(Int16, default=0)
    error_message: str | None = wire(String, nullable="0+", default=None)
    matching_acls: list[DeleteAclsMatchingAcl] = wire(ArrayOf(DeleteAclsMatchingAcl))


@message(api=ApiKey.DELETE_ACLS, versions="1-3", flexible="2+")
class DeleteAclsResponse:
    """The rules that each filter removed, in order.

    Source: as for the request.
    """

    throttle_time_ms: int = wire(Int32, default=0)
    filter_results: list[DeleteAclsFilterResult] = wire(ArrayOf(DeleteAclsFilterResult))
