"""Coordinators that are loading are asked again."""

from __future__ import annotations

import pytest

from console import loading
from console.loading import when_loaded
from protocol.error_codes import ErrorCode
from protocol.messages.list_groups import ListGroupsResponse
from protocol.messages.share_group_describe import DescribedGroup, ShareGroupDescribeResponse


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "PAUSE_SECONDS", 0)


def listed(code: ErrorCode) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=code, groups=[])


@pytest.mark.parametrize("code", sorted(loading.LOADING))
def test_what_a_loading_coordinator_refuses_is_asked_again_until_it_is_loaded(code: ErrorCode) -> None:
    answers = [listed(code), listed(code), listed(ErrorCode.NONE), listed(code)]
    assert when_loaded(lambda: answers.pop(0)).error_code == ErrorCode.NONE
    assert len(answers) == 1


def test_one_group_that_is_loading_is_enough() -> None:
    def described(code: ErrorCode) -> ShareGroupDescribeResponse:
        groups = [
            DescribedGroup(
                error_code=each, group_id="g", group_state="", group_epoch=0, assignment_epoch=0,
                assignor_name="", members=[],
            )
            for each in (ErrorCode.NONE, code)
        ]  # fmt: skip
        return ShareGroupDescribeResponse(groups=groups)

    answers = [described(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS), described(ErrorCode.NONE)]
    when_loaded(lambda: answers.pop(0))
    assert not answers


def test_other_refusals_are_told_at_once_and_that_of_loading_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    answers = [listed(ErrorCode.GROUP_AUTHORIZATION_FAILED)]
    assert when_loaded(answers.pop).error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    monkeypatch.setattr(loading, "PATIENCE_SECONDS", 0)
    answers = [listed(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]
    assert when_loaded(answers.pop).error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
