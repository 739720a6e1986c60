"""DescribeAcls: there is no authorisation."""

from __future__ import annotations

from typing import Any

import pytest

from broker.security.acls import PatternType
from broker.security.authorized_operations import Operation
from protocol.messages.describe_acls import DescribeAclsRequest
from tests.broker.gateway import Gateway
from tests.broker.guarded import TOPIC, Guarded

FILTER: dict[str, Any] = {
    "resource_type_filter": 1,
    "resource_name_filter": None,
    "pattern_type_filter": 1,
    "principal_filter": None,
    "host_filter": None,
    "operation": 1,
    "permission_type": 1,
}


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("resource_type", [1, 99])
def test_security_is_disabled(version: int, resource_type: int) -> None:
    request = DescribeAclsRequest(
        resource_type_filter=resource_type,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    answer = Gateway().client().call(request, version)
    assert (answer.error_code, answer.resources) == (54, [])
    assert answer.error_message == "No Authorizer is configured on the broker"


def test_rules_are_listed_by_resource() -> None:
    guarded = Guarded()
    guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.WRITE, TOPIC, "t")
    guarded.allow(Operation.READ, TOPIC, "t", pattern=PatternType.PREFIXED)
    answer = guarded.admin.call(DescribeAclsRequest(**FILTER), 3)
    assert answer.error_code == 0
    found = [
        (item.resource_name, item.pattern_type, [acl.operation for acl in item.acls])
        for item in answer.resources
    ]
    assert found == [("t", 3, [3, 4]), ("t", 4, [3])]


def test_no_match_is_no_error() -> None:
    answer = Guarded().admin.call(DescribeAclsRequest(**FILTER), 3)
    assert (answer.error_code, answer.resources) == (0, [])


def test_an_unknown_element_is_an_invalid_request() -> None:
    answer = Guarded().admin.call(DescribeAclsRequest(**FILTER | {"operation": 0}), 3)
    assert answer.error_code == 42
