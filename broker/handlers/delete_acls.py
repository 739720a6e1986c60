"""DeleteAcls: v1-3.

Behaviour: every filter answers SECURITY_DISABLED; there is no authorisation and no rule to delete.
Differences from Apache Kafka: none known; a broker without an authorizer answers the same.
Version notes: v1 pattern types (KIP-290); v2 flexible; v3 users (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from protocol.error_codes import ErrorCode
from protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(_broker: Broker, call: Call[DeleteAclsRequest]) -> DeleteAclsResponse:
    """Refuse every filter."""
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(
                error_code=ErrorCode.SECURITY_DISABLED,
                error_message="No Authorizer is configured.",
                matching_acls=[],
            )
            for _ in call.request.filters
        ]
    )
