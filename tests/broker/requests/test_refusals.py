"""Every request can be refused as a whole, in each version, in a form that can be sent."""

from __future__ import annotations

import pytest

from broker.connections.response_errors import errors_of
from broker.requests.refusals import refusal
from broker.security.access_table import ACCESS, Scope
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.wire import encode
from tests.broker.access_cases import CASES, Case

WHOLE = [
    case
    for case in CASES
    if any(check.scope is Scope.WHOLE for check in ACCESS[case.api]) and case.api != ApiKey.PRODUCE
]


@pytest.mark.parametrize("case", WHOLE, ids=lambda case: case.name)
def test_the_answer_can_be_sent_and_has_the_error(case: Case) -> None:
    answer = refusal(case.api, case.make(), ErrorCode.CLUSTER_AUTHORIZATION_FAILED, "no")
    assert len(encode(answer, case.version)) > 0
    if case.api == ApiKey.ADD_PARTITIONS_TO_TXN:
        return  # its field has another name
    assert set(errors_of(answer) or ()) == {ErrorCode.CLUSTER_AUTHORIZATION_FAILED}


@pytest.mark.parametrize("name", ["create", "renew", "expire", "describe"])
def test_requests_about_delegation_tokens_can_be_refused_too(name: str) -> None:
    answer = refusal(ApiKey[f"{name.upper()}_DELEGATION_TOKEN"], None, ErrorCode.KAFKA_STORAGE_ERROR, "no")
    for version in (1, 2):
        assert len(encode(answer, version)) > 0
    assert set(errors_of(answer) or ()) == {ErrorCode.KAFKA_STORAGE_ERROR}
