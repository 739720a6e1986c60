"""CreateAcls: v1-3.

Behaviour: every rule answers SECURITY_DISABLED; there is no authorisation, so no rule would have an effect.
Differences from Apache Kafka: none known; a broker without an authorizer answers the same.
Version notes: v1 pattern types (KIP-290); v2 flexible; v3 users (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

if TYPE_CHECKING:
    from broker.core import Broker


def handle(_broker: Broker, call: Call[CreateAclsRequest]) -> CreateAclsResponse:
    """Refuse every rule."""
    return CreateAclsResponse(
        results=[
            AclCreationResult(
                error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured."
            )
            for _ in call.request.creations
        ]
    )
