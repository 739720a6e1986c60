"""CreateAcls: there is no authorisation."""

from __future__ import annotations

import pytest

from protocol.messages.create_acls import AclCreation, CreateAclsRequest
from tests.broker.gateway import Gateway


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
