"""Requests and answers of share fetches are gone through in slices."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any
from uuid import UUID

from broker.fetching.share_places import Place
from broker.fetching.share_reader import blank
from broker.fetching.share_request import acknowledging, freed, has_errors, named, response_of
from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import (
    AcknowledgementBatch,
    FetchPartition,
    FetchTopic,
    PartitionData,
    ShareFetchRequest,
)

ID = UUID(int=1)
SAID = AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])


def topic(count: int, *batches: AcknowledgementBatch) -> FetchTopic:
    partitions = [
        FetchPartition(partition_index=index, acknowledgement_batches=list(batches)) for index in range(count)
    ]
    return FetchTopic(topic_id=ID, partitions=partitions)


def counted(steps: Generator[None, None, Any]) -> tuple[int, Any]:
    """Return the number of pauses, and what the steps return."""
    pauses = 0
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return pauses, end.value
        pauses += 1


def test_a_request_acknowledges_in_some_partition_or_in_none() -> None:
    assert counted(acknowledging([topic(2)])) == (0, False)
    assert counted(acknowledging([topic(2), topic(1, SAID)])) == (0, True)


def test_many_partitions_and_many_empty_topics_make_pauses() -> None:
    assert counted(acknowledging([topic(1_200)]))[0] == 2
    assert counted(acknowledging([topic(0)] * 1_200))[0] == 2


def test_a_topic_is_named_before_its_partitions() -> None:
    (first, second) = named([topic(1)])
    assert first is None
    assert second is not None
    assert second[0] == ID


def test_freeing_leaves_a_request_without_topics() -> None:
    request = ShareFetchRequest(
        member_id="m",
        share_session_epoch=0,
        max_wait_ms=0,
        min_bytes=0,
        max_records=0,
        batch_size=0,
        topics=[topic(1_200), topic(0)],
        forgotten_topics_data=[],
    )
    assert counted(freed(request))[0] >= 3
    assert request.topics == []


def test_an_error_is_found_among_many_partitions() -> None:
    data: dict[Place, PartitionData] = {(ID, index): blank(index) for index in range(1_200)}
    assert counted(has_errors(data)) == (2, False)
    data[ID, 700] = blank(700, ErrorCode.UNKNOWN_TOPIC_ID)
    assert counted(has_errors(data)) == (1, True)


def test_a_response_has_the_outcomes_of_acknowledgements() -> None:
    said = {(ID, 1): (ErrorCode.INVALID_RECORD_STATE, "no")}
    pauses, response = counted(response_of({(ID, 0): blank(0)}, said, lock_ms=5))
    (answered,) = response.responses
    assert [(data.partition_index, data.acknowledge_error_code) for data in answered.partitions] == [
        (0, 0),
        (1, ErrorCode.INVALID_RECORD_STATE),
    ]
    assert (pauses, response.acquisition_lock_timeout_ms) == (0, 5)
