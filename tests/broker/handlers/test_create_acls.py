"""CreateAcls: there is no authorisation."""

from __future__ import annotations

import pytest

from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from tests.broker.gateway import Gateway
from tests.broker.guarded import Guarded


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_every_rule_is_told_that_security_is_disabled(version: int, count: int) -> None:
    rule = AclCreation(
        resource_type=2, resource_name="t", principal="User:a", host="*", operation=3, permission_type=3
    )
    answer = Gateway().client().call(CreateAclsRequest(creations=[rule] * count), version)
    assert [(result.error_code, result.error_message) for result in answer.results] == [
        (54, "No Authorizer is configured.")
    ] * count


def creation(**fields: object) -> AclCreation:
    values = {
        "resource_type": 2,
        "resource_name": "t",
        "principal": "User:a",
        "host": "*",
        "operation": 3,
        "permission_type": 3,
    }
    return AclCreation(**(values | fields))  # type: ignore[arg-type]


def test_a_rule_is_in_effect_and_durable_when_it_is_answered() -> None:
    guarded = Guarded()
    answer = guarded.admin.call(CreateAclsRequest(creations=[creation(), creation()]), 3)
    assert [result.error_code for result in answer.results] == [0, 0]
    guarded.crash()
    (acl,) = guarded.broker.catalogue.acls
    assert (acl.name, acl.principal) == ("t", "User:a")


def test_each_rule_has_an_outcome_of_its_own() -> None:
    guarded = Guarded()
    wrong = [creation(principal="a"), creation(resource_name=""), creation(operation=1)]
    answer = guarded.admin.call(CreateAclsRequest(creations=[*wrong, creation()]), 3)
    assert [result.error_code for result in answer.results] == [42, 42, 42, 0]
    assert len(guarded.broker.catalogue.acls) == 1


def test_many_rules_are_added_in_slices() -> None:
    guarded = Guarded()
    many = [creation(resource_name=f"t{number}") for number in range(2_000)]
    answer = guarded.admin.call(CreateAclsRequest(creations=many), 3)
    assert {result.error_code for result in answer.results} == {0}
    guarded.restart()
    assert len(guarded.broker.catalogue.acls) == 2_000
