"""The gate that enforces access rules: what a request needs by the table, checked before its handler.

`call.rights` is set for handlers, which check what only they know: the partitions of a fetch and of its
session, the topics of an answer about all topics, the source of a view.
"""

from __future__ import annotations

from typing import Any, Final

from broker.catalogue.topics import Catalogue
from broker.loop.call import Call, CallConnection
from broker.requests import access_groups, access_share, access_topics, access_transactions
from broker.requests.gate import Refused
from broker.requests.passage import MESSAGES, Checks, Passage
from broker.requests.refusals import refusal
from broker.security.access_table import ACCESS, Scope
from broker.security.acls import ResourceType
from broker.security.authorizer import Authorizer
from broker.security.rights import Rights
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode

STEPS_AT_ONCE: Final = 4
"""The steps of checks that are made without a pause, 2 ms at most."""

SPECIAL: Final = {
    **access_topics.CHECKS,
    **access_groups.CHECKS,
    **access_transactions.CHECKS,
    **access_share.CHECKS,
}
"""The checks of APIs that need more than an operation on the cluster."""

IN_HANDLER: Final = frozenset(
    {
        ApiKey.PRODUCE,
        ApiKey.FETCH,
        ApiKey.METADATA,
        ApiKey.DESCRIBE_TOPIC_PARTITIONS,
        ApiKey.DESCRIBE_CLUSTER,
        ApiKey.LIST_GROUPS,
        ApiKey.LIST_TRANSACTIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.DESCRIBE_DELEGATION_TOKEN,
    }
)
"""The APIs whose checks are all made by their handlers."""

V4_MAPPED: Final = "::ffff:"


class AclGate:
    """The gate of a server with an authorizer."""

    def __init__(self, authorizer: Authorizer, catalogue: Catalogue) -> None:
        self._authorizer = authorizer
        self._catalogue = catalogue

    def admit(self, call: Call[Any], now_ms: int) -> object | Checks | None:
        """Check what can be checked now; checks of very many things are returned as steps."""
        call.rights = self._rights_of(call.connection)
        if call.api_key in IN_HANDLER:
            return None
        passage = Passage(call, call.rights, self._catalogue)
        special = SPECIAL.get(call.api_key)
        if special is None:
            return _whole(passage)
        steps = special(passage)
        try:
            for _ in range(STEPS_AT_ONCE):
                next(steps)
        except StopIteration as end:
            return _judged(call, end.value)
        return _rest(call, steps)

    def lets_write(self, connection: CallConnection, topic: str) -> bool:
        """Whether the rules, as they are at this moment, let the client write to the topic."""
        return self._rights_of(connection).may_write(topic)

    def _rights_of(self, connection: CallConnection) -> Rights:
        """Return the rights of the client as which the connection is known now."""
        rights = connection.rights
        if rights is None or rights.principal is not connection.principal:
            host = connection.host.removeprefix(V4_MAPPED)
            rights = connection.rights = Rights(self._authorizer, connection.principal, host)
        return rights


def _rest(call: Call[Any], steps: Checks) -> Checks:
    return _judged(call, (yield from steps))


def _judged(call: Call[Any], found: object | None) -> object | None:
    """Return the verdict for the result of checks: None, a response, or an error for all of it."""
    return _refused(call, found) if isinstance(found, ErrorCode) else found


def _refused(call: Call[Any], code: ErrorCode) -> Refused:
    return Refused(lambda: refusal(call.api_key, call.request, code, MESSAGES[code]))


def _whole(passage: Passage) -> object | None:
    """Check the operations on the cluster, or on the request's one group, that the table has for its API."""
    call, rights = passage.call, passage.rights
    for check in ACCESS[call.api_key]:
        assert check.scope is Scope.WHOLE, "items are checked in the files of SPECIAL, or by the handler"
        if check.resource == ResourceType.CLUSTER:
            allowed = rights.may_cluster(check.operation)
        else:
            allowed = rights.may_group(check.operation, passage.request.group_id)
        if not allowed:
            assert check.error is not None
            return _refused(call, check.error)
    return None
