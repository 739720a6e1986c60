"""CreateAcls: v1-3.

Behaviour: adds access rules, each with an outcome of its own; one that exists already is a success.  The
answer leaves when all are durable, and a rule counts at once, also for connections that are open.  Without an
authorizer every rule is answered SECURITY_DISABLED.
Differences from Apache Kafka: a rule with ANY or UNKNOWN for its type, pattern, operation or permission is
answered INVALID_REQUEST on its own (Kafka answers -1 for all rules of the request).
Version notes: v1 pattern types (KIP-290); v2 flexible; v3 users (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.catalogue.catalogue_records import AclAdded
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Steps, in_slices, made_of
from broker.security.acls import Acl, check_acl
from protocol.error_codes import ErrorCode
from protocol.messages.create_acls import (
    AclCreation,
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[CreateAclsRequest]) -> CreateAclsResponse | Parked | Steps:
    """Add every rule that can be, or refuse all."""
    answer: CreateAclsResponse | Parked | Steps = in_slices(
        _create_all(broker, call), len(call.request.creations)
    )
    return answer


def _create_all(broker: Broker, call: Call[CreateAclsRequest]) -> Steps:
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)

    def create(asked: AclCreation) -> AclCreationResult:
        result = AclCreationResult(error_message="")
        if broker.authorizer is None:
            result.error_code = ErrorCode.SECURITY_DISABLED
            result.error_message = "No Authorizer is configured."
            return result
        acl = _rule(asked)
        try:
            check_acl(acl)
            if acl not in broker.catalogue.acls:
                broker.metadata_log.append(AclAdded(**acl._asdict()), call.received_ms)
        except RequestError as error:
            result.error_code, result.error_message = error.code, error.message
        else:
            # One that exists may not be durable yet.
            pending.made(result)
        return result

    results = yield from made_of(call.request.creations, create)
    return pending.answer(CreateAclsResponse(results=results))


def _rule(asked: AclCreation) -> Acl:
    return Acl(
        asked.resource_type,
        asked.resource_name,
        asked.resource_pattern_type,
        asked.principal,
        asked.host,
        asked.operation,
        asked.permission_type,
    )
