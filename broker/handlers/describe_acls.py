"""DescribeAcls: v1-3.

Behaviour: answers SECURITY_DISABLED; there is no authorisation, and every client may do everything.
Differences from Apache Kafka: none known; a broker without an authorizer answers the same.
Version notes: v1 pattern types (KIP-290); v2 flexible; v3 users (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from protocol.error_codes import ErrorCode
from protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(_broker: Broker, _call: Call[DescribeAclsRequest]) -> DescribeAclsResponse:
    """Refuse the request."""
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED,
        error_message="No Authorizer is configured on the broker",
        resources=[],
    )
