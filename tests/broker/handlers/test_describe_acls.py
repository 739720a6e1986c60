"""DescribeAcls: there is no authorisation."""

from __future__ import annotations

import pytest

from protocol.messages.describe_acls import DescribeAclsRequest
from tests.broker.gateway import Gateway


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
