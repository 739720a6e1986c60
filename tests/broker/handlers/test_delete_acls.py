"""DeleteAcls: there is no authorisation."""

from __future__ import annotations

from typing import Any

import pytest

from broker.security.authorized_operations import Operation
from protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
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


def test_the_rules_that_a_filter_finds_are_listed_and_no_longer_in_effect() -> None:
    guarded = Guarded()
    read = guarded.allow(Operation.READ, TOPIC, "t")
    guarded.allow(Operation.WRITE, TOPIC, "t")
    wanted = DeleteAclsFilter(**FILTER | {"operation": 3})
    answer = guarded.admin.call(DeleteAclsRequest(filters=[wanted, wanted]), 3)
    for result in answer.filter_results:
        assert [(acl.resource_name, acl.operation) for acl in result.matching_acls] == [("t", 3)]
    assert read not in guarded.broker.catalogue.acls
    guarded.crash()
    assert [acl.operation for acl in guarded.broker.catalogue.acls] == [4]


def test_a_filter_that_finds_nothing_is_no_error() -> None:
    answer = Guarded().admin.call(DeleteAclsRequest(filters=[DeleteAclsFilter(**FILTER)]), 3)
    assert [(result.error_code, result.matching_acls) for result in answer.filter_results] == [(0, [])]


def test_an_unknown_element_is_an_invalid_request() -> None:
    wanted = DeleteAclsFilter(**FILTER | {"permission_type": 0})
    answer = Guarded().admin.call(DeleteAclsRequest(filters=[wanted]), 3)
    assert [result.error_code for result in answer.filter_results] == [42]
