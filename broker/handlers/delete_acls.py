"""DeleteAcls: v1-3.

Behaviour: removes the access rules that each filter finds, and lists them; none is no error.  A rule that
several filters find is listed by each.  The answer leaves when all is durable; what is allowed changes at
once, also for connections that are open.  Without an authorizer every filter is answered SECURITY_DISABLED.
Differences from Apache Kafka: a filter with UNKNOWN elements is answered INVALID_REQUEST (Kafka closes the
connection).
Version notes: v1 pattern types (KIP-290); v2 flexible; v3 users (KIP-373).
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING

from broker.catalogue.catalogue_records import AclRemoved
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import ITEMS_PER_STEP, Steps, in_slices
from broker.security.acls import Acl, AclFilter, filter_problem
from protocol.error_codes import ErrorCode
from protocol.messages.delete_acls import (
    DeleteAclsFilter,
    DeleteAclsFilterResult,
    DeleteAclsMatchingAcl,
    DeleteAclsRequest,
    DeleteAclsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[DeleteAclsRequest]) -> DeleteAclsResponse | Parked | Steps:
    """Remove what every filter finds, or refuse all."""
    count = max(1, len(broker.catalogue.acls)) * len(call.request.filters)
    answer: DeleteAclsResponse | Parked | Steps = in_slices(_delete_all(broker, call), count)
    return answer


def _delete_all(broker: Broker, call: Call[DeleteAclsRequest]) -> Steps:
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)
    # A rule is listed by each filter that finds it.
    existing = dict.fromkeys(broker.catalogue.acls)
    results: list[DeleteAclsFilterResult] = []
    for asked in call.request.filters:
        result = DeleteAclsFilterResult(error_message="", matching_acls=[])
        results.append(result)
        wanted = _filter(asked)
        problem = filter_problem(wanted)
        if broker.authorizer is None:
            result.error_code = ErrorCode.SECURITY_DISABLED
            result.error_message = "No Authorizer is configured."
        elif problem is not None:
            result.error_code, result.error_message = ErrorCode.INVALID_REQUEST, problem
        else:
            yield from _delete(broker, call, wanted, existing, result, pending)
            pending.made(result)
        yield
    return pending.answer(DeleteAclsResponse(filter_results=results))


def _delete(
    broker: Broker,
    call: Call[DeleteAclsRequest],
    wanted: AclFilter,
    existing: dict[Acl, None],
    result: DeleteAclsFilterResult,
    pending: PendingChanges,
) -> Generator[None, None, None]:
    single = wanted.single
    candidates = existing if single is None else existing.keys() & {single}
    known = broker.catalogue.acls
    for number, acl in enumerate(candidates, start=1):
        if wanted.matches(acl):
            match = _listed(acl)
            result.matching_acls.append(match)
            try:
                if acl in known:
                    broker.metadata_log.append(AclRemoved(**acl._asdict()), call.received_ms)
            except RequestError as error:
                match.error_code, match.error_message = error.code, error.message
            else:
                pending.made(match)
        if not number % ITEMS_PER_STEP:
            yield


def _filter(asked: DeleteAclsFilter) -> AclFilter:
    return AclFilter(
        asked.resource_type_filter,
        asked.resource_name_filter,
        asked.pattern_type_filter,
        asked.principal_filter,
        asked.host_filter,
        asked.operation,
        asked.permission_type,
    )


def _listed(acl: Acl) -> DeleteAclsMatchingAcl:
    return DeleteAclsMatchingAcl(
        error_message="",
        resource_type=acl.resource_type,
        resource_name=acl.name,
        pattern_type=acl.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission,
    )
