"""FindCoordinator's texts, which are those of Apache Kafka 4.3.1 where there is no error."""

from __future__ import annotations

import pytest

from protocol.error_codes import ErrorCode
from protocol.messages.find_coordinator import FindCoordinatorRequest
from tests.broker.gateway import Gateway


@pytest.mark.parametrize(("version", "text"), [(1, "NONE"), (3, "NONE")])
def test_no_error_has_a_name_while_there_is_one_key(version: int, text: str) -> None:
    answer = Gateway().client().call(FindCoordinatorRequest(key="g"), version)
    assert (answer.error_code, answer.error_message) == (0, text)


def test_no_error_has_an_empty_text_among_many_keys() -> None:
    answer = Gateway().client().call(FindCoordinatorRequest(coordinator_keys=["g", "h"]), 6)
    assert [coordinator.error_message for coordinator in answer.coordinators] == ["", ""]


def test_an_unknown_kind_of_coordinator_is_named() -> None:
    answer = Gateway().client().call(FindCoordinatorRequest(key_type=3, coordinator_keys=["g"]), 4)
    assert answer.coordinators[0].error_code == ErrorCode.INVALID_REQUEST
    assert "type 3" in answer.coordinators[0].error_message
