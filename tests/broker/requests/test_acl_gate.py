"""The gate of a server with an authorizer: every API of the table, allowed, denied, by prefix and host."""

from __future__ import annotations

from typing import Any

import pytest

from broker.connections.response_errors import errors_of
from broker.handlers import APIS
from broker.security.access_table import ACCESS
from broker.security.acls import PatternType, Permission
from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from tests.broker.access_cases import CASES, ELSEWHERE, NAMES, Case
from tests.broker.groups import commit
from tests.broker.guarded import CLUSTER, Guarded, rule
from tests.broker.kit import create

AUTHORIZATION = {
    ErrorCode.TOPIC_AUTHORIZATION_FAILED,
    ErrorCode.GROUP_AUTHORIZATION_FAILED,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED,
}

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


def prepared(*, topic: bool = True) -> Guarded:
    guarded = Guarded()
    if topic:
        create(guarded.admin, "t", 2)
        commit(guarded.admin, "g", ("t", 1, 0))
    return guarded


def refusals(guarded: Guarded, case: Case, principal: str = "User:alice", host: str = "10.0.0.9") -> set[int]:
    """Return the codes about authorization in the answer to the case's request."""
    client = guarded.of(principal, host)
    client.send(case.make(), case.version)
    guarded.settle()
    guarded.advance(10_000)
    (answer,) = client.answers()
    codes: set[int] = set(errors_of(answer) or ())
    for topic in getattr(answer, "results_by_topic_v3_and_below", ()):
        codes |= {result.partition_error_code for result in topic.results_by_partition}
    return codes & AUTHORIZATION


def give(guarded: Guarded, case: Case, **other: Any) -> None:
    for check in case.needs:
        name = NAMES[check.resource]
        if other.get("pattern") == PatternType.PREFIXED:
            name = name[:1]
        guarded.allow(check.operation, check.resource, other.pop("name", name), **other)


def test_every_api_that_is_served_has_a_row() -> None:
    assert set(ACCESS) == set(APIS)


def test_every_check_that_refuses_has_a_case() -> None:
    tried = {(case.api, number) for case in CASES for number in case.checks} | ELSEWHERE
    wanted = {(api, number) for api, row in ACCESS.items() for number, check in enumerate(row) if check.error}
    assert {(int(api), number) for api, number in wanted} == {(int(api), number) for api, number in tried}


@every_case
def test_a_super_user_is_refused_nothing(case: Case) -> None:
    assert refusals(prepared(), case, "User:admin") == set()


@every_case
def test_without_rules_the_first_check_refuses(case: Case) -> None:
    assert refusals(prepared(), case) == {case.needs[0].error}


@every_case
def test_each_check_is_made_and_no_other(case: Case) -> None:
    guarded = prepared()
    for number, check in enumerate(case.needs):
        assert refusals(guarded, case) == {check.error}, number
        guarded.allow(check.operation, check.resource, NAMES[check.resource])
    assert refusals(guarded, case) == set()


@every_case
def test_a_denial_wins_over_what_is_allowed(case: Case) -> None:
    for check in case.needs:
        guarded = prepared()
        give(guarded, case)
        guarded.deny(check.operation, check.resource, NAMES[check.resource], principal="User:*")
        assert check.error in refusals(guarded, case)


@every_case
def test_a_prefix_allows(case: Case) -> None:
    guarded = prepared()
    for check in case.needs:
        literal = check.resource == CLUSTER
        name = NAMES[check.resource]
        guarded.allow(
            check.operation,
            check.resource,
            name if literal else name[:1],
            pattern=PatternType.LITERAL if literal else PatternType.PREFIXED,
        )
    assert refusals(guarded, case) == set()


@every_case
def test_a_wildcard_for_everyone_allows(case: Case) -> None:
    guarded = prepared()
    for check in case.needs:
        guarded.put(rule(Operation.ALL, check.resource, "*", principal="User:*"))
    assert refusals(guarded, case) == set()


@every_case
def test_a_rule_for_another_host_does_not(case: Case) -> None:
    guarded = prepared()
    for check in case.needs:
        guarded.allow(check.operation, check.resource, NAMES[check.resource], host="10.0.0.7")
    assert refusals(guarded, case) == {case.needs[0].error}
    assert refusals(guarded, case, host="10.0.0.7") == set()


def test_an_address_of_v4_in_v6_is_that_of_v4() -> None:
    guarded = prepared()
    (case,) = [case for case in CASES if case.api.name == "LIST_OFFSETS"]
    give(guarded, case, host="10.0.0.7")
    assert refusals(guarded, case, host="[::ffff:10.0.0.7]") == set()


def test_rules_removed_count_at_once_for_open_connections() -> None:
    guarded = prepared()
    (case,) = [case for case in CASES if case.api.name == "LIST_OFFSETS"]
    client = guarded.of("User:alice")
    acl = guarded.allow(Operation.DESCRIBE, case.needs[0].resource, "t")
    assert errors_of(client.call(case.make(), case.version)) is None
    guarded.take(acl)
    assert errors_of(client.call(case.make(), case.version)) == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]


def test_nothing_is_asked_without_an_authorizer() -> None:
    from tests.broker.gateway import Gateway

    gateway = Gateway()
    assert gateway.broker.authorizer is None
    gate: Any = gateway.broker._dispatcher._gate
    assert type(gate._inner).__name__ == "OpenGate"


def test_rules_survive_a_restart_and_a_crash() -> None:
    guarded = prepared()
    acl = guarded.allow(Operation.READ, CLUSTER, permission=Permission.DENY)
    guarded.restart()
    assert list(guarded.broker.catalogue.acls) == [acl]
    guarded.crash()
    assert list(guarded.broker.catalogue.acls) == [acl]
