"""ListPartitionReassignments: no reassignment is ever in progress."""

from __future__ import annotations

import pytest

from protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from tests.broker.gateway import Gateway


@pytest.mark.parametrize("names", [None, [], ["nope"]])
def test_the_list_is_empty(names: list[str] | None) -> None:
    topics = None
    if names is not None:
        topics = [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0]) for name in names]
    request = ListPartitionReassignmentsRequest(timeout_ms=1000, topics=topics)
    answer = Gateway().client().call(request, 0)
    assert (answer.error_code, answer.error_message, answer.topics) == (0, None, [])
