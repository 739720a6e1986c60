"""DescribeAcls: v1-3.

Behaviour: lists the access rules that a filter finds, by resource; none is no error.  Without an authorizer
the answer is SECURITY_DISABLED.
Differences from Apache Kafka: a filter with UNKNOWN elements is answered INVALID_REQUEST (Kafka closes the
connection).
Version notes: v1 pattern types (KIP-290); v2 flexible; v3 users (KIP-373).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from broker.loop.call import Call
from broker.loop.slices import PLAIN_ITEMS_PER_STEP, Steps, chunks, in_slices
from broker.security.acls import AclFilter, filter_problem
from protocol.error_codes import ErrorCode
from protocol.messages.describe_acls import (
    AclDescription,
    DescribeAclsRequest,
    DescribeAclsResource,
    DescribeAclsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DescribeAclsRequest]) -> DescribeAclsResponse | Steps:
    """List the rules that match, or refuse the request."""
    request = call.request
    if broker.authorizer is None:
        return _refused(ErrorCode.SECURITY_DISABLED, "No Authorizer is configured on the broker")
    wanted = AclFilter(
        request.resource_type_filter,
        request.resource_name_filter,
        request.pattern_type_filter,
        request.principal_filter,
        request.host_filter,
        request.operation,
        request.permission_type,
    )
    problem = filter_problem(wanted)
    if problem is not None:
        return _refused(ErrorCode.INVALID_REQUEST, problem)
    answer: DescribeAclsResponse | Steps = in_slices(_find(broker, wanted), len(broker.catalogue.acls))
    return answer


def _refused(code: ErrorCode, why: str) -> DescribeAclsResponse:
    return DescribeAclsResponse(error_code=code, error_message=why, resources=[])


def _find(broker: Broker, wanted: AclFilter) -> Steps:
    found: dict[tuple[int, str, int], list[AclDescription]] = {}
    for part in chunks(broker.catalogue.acls.candidates(wanted), per_step=PLAIN_ITEMS_PER_STEP):
        for acl in filter(wanted.matches, part):
            found.setdefault(acl[:3], []).append(
                AclDescription(
                    principal=acl.principal,
                    host=acl.host,
                    operation=acl.operation,
                    permission_type=acl.permission,
                )
            )
        yield
    return DescribeAclsResponse(
        error_message="",
        resources=[
            DescribeAclsResource(resource_type=kind, resource_name=name, pattern_type=pattern, acls=acls)
            for (kind, name, pattern), acls in found.items()
        ],
    )
