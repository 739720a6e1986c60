"""DeleteAcls: there is no authorisation."""

from __future__ import annotations

import pytest

from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from tests.broker.gateway import Gateway


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("count", [0, 1, 2])
def test_every_filter_is_told_that_security_is_disabled(version: int, count: int) -> None:
    everything = DeleteAclsFilter(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    answer = Gateway().client().call(DeleteAclsRequest(filters=[everything] * count), version)
    assert [(result.error_code, result.matching_acls) for result in answer.filter_results] == [
        (54, [])
    ] * count
