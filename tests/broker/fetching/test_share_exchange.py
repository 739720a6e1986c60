"""The parts of long acknowledgements, and answers that wait for all of them."""

from __future__ import annotations

import itertools

import pytest

from broker.fetching.share_exchange import RUNS_PER_STEP, _parts
from groups.errors import InvalidRecordState, InvalidRequest
from protocol.error_codes import ErrorCode
from protocol.messages.share_fetch import AcknowledgementBatch
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, RELEASE, RENEW, codes


def said(first: int, last: int, *types: int) -> AcknowledgementBatch:
    return AcknowledgementBatch(first_offset=first, last_offset=last, acknowledge_types=list(types))


def test_a_long_acknowledgement_is_cut_into_parts_that_cover_it() -> None:
    types = [ACCEPT] * (3 * RUNS_PER_STEP + 5)
    parts = list(_parts([said(10, 10 + len(types) - 1, *types)], renews=False, may_renew=True))
    covered = [(batch.first, batch.last) for part in parts for batch in part]
    assert covered[0][0] == 10
    assert covered[-1][1] == 10 + len(types) - 1
    assert all(left[1] + 1 == right[0] for left, right in itertools.pairwise(covered))
    assert len(parts) == 4


def test_one_type_for_a_long_range_is_one_part() -> None:
    assert len(list(_parts([said(0, 10**9, ACCEPT)], renews=False, may_renew=True))) == 1


def test_ranges_must_ascend_and_not_overlap() -> None:
    with pytest.raises(InvalidRequest):
        list(_parts([said(5, 6, ACCEPT), said(4, 4, ACCEPT)], renews=False, may_renew=True))
    with pytest.raises(InvalidRecordState):
        list(_parts([said(5, 6, ACCEPT), said(6, 7, ACCEPT)], renews=False, may_renew=True))


@pytest.mark.parametrize(
    "batches",
    [
        [said(5, 6, ACCEPT), said(5, 6, ACCEPT)],
        [said(0, 9, ACCEPT), said(3, 4, RELEASE)],
        [said(0, 0, ACCEPT), said(0, 1, 9)],
        [said(0, 0, RENEW), said(1, 1, 9)],
    ],
)
def test_faults_of_form_are_told_before_those_of_state(batches: list[AcknowledgementBatch]) -> None:
    with pytest.raises(InvalidRequest):
        list(_parts(batches, renews=True, may_renew=False))


def test_renewals_need_a_request_and_a_group_that_allow_them() -> None:
    with pytest.raises(InvalidRequest):
        list(_parts([said(0, 0, RENEW)], renews=False, may_renew=True))
    with pytest.raises(InvalidRecordState):
        list(_parts([said(0, 0, RENEW)], renews=True, may_renew=False))


def test_an_error_in_one_partition_leaves_the_others_alone() -> None:
    jobs = Jobs(partitions=2)
    member = jobs.member("m1")
    places = [(jobs.topic_id, index) for index in range(2)]
    for index in range(2):
        jobs.produce(b"a", index=index)
    member.fetch(*places)
    answer = member.fetch(said={places[0]: [(0, 0, [ACCEPT])], places[1]: [(7, 7, [ACCEPT])]})
    assert sorted(codes(answer)) == [(0, 0, 0), (1, 0, ErrorCode.INVALID_REQUEST)]
