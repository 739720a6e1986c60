"""The outcome of a batch: stored, worth another try, or refused with a reason."""

from __future__ import annotations

from console.batch_outcomes import Outcome, outcomes_of
from protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)


def test_a_batch_that_was_there_before_is_stored() -> None:
    assert Outcome(0, "").is_stored
    assert Outcome(46, "").is_stored
    assert not Outcome(45, "").is_stored


def test_what_may_pass_is_tried_again() -> None:
    assert [code for code in (6, 7, 19, 45, 56, 10, 29, 87) if Outcome(code, "").is_retriable] == [
        6,
        7,
        19,
        45,
        56,
    ]


def test_the_record_at_fault_is_named() -> None:
    told = PartitionProduceResponse(
        index=3,
        error_code=87,
        base_offset=-1,
        error_message="no",
        record_errors=[BatchIndexAndErrorMessage(batch_index=4, batch_index_error_message="bad key")],
    )
    fine = PartitionProduceResponse(index=1, base_offset=7)
    answer = ProduceResponse(responses=[TopicProduceResponse(name="t", partition_responses=[told, fine])])
    found = outcomes_of(answer)
    assert found[3] == (87, "no; record 4 of its batch: bad key")
    assert found[1].is_stored
