"""Requests of share groups at share.version 0 are refused, each in its own way; others are served."""

from __future__ import annotations

from typing import Any

import pytest

from protocol.messages.alter_share_group_offsets import AlterShareGroupOffsetsRequest
from protocol.messages.delete_share_group_offsets import DeleteShareGroupOffsetsRequest
from protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
)
from protocol.messages.share_group_describe import ShareGroupDescribeRequest
from protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from tests.broker.gateway import Gateway
from tests.broker.handlers.test_share_fetch import Jobs
from tests.broker.shares import ACCEPT, Member, acquired

UNSUPPORTED_VERSION = 35


def set_level(gateway: Gateway, level: int, kind: int) -> None:
    key = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=kind)
    request = UpdateFeaturesRequest(timeout_ms=1000, feature_updates=[key])
    assert gateway.client().call(request, 1).error_code == 0


@pytest.mark.parametrize(
    ("request_", "version", "code"),
    [
        (
            ShareGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False),
            1,
            lambda answer: answer.groups[0].error_code,
        ),
        (
            DescribeShareGroupOffsetsRequest(
                groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)]
            ),
            0,
            lambda answer: answer.groups[0].error_code,
        ),
        (AlterShareGroupOffsetsRequest(group_id="g", topics=[]), 0, lambda answer: answer.error_code),
        (DeleteShareGroupOffsetsRequest(group_id="g", topics=[]), 0, lambda answer: answer.error_code),
    ],
)
def test_administration_is_refused(request_: Any, version: int, code: Any) -> None:
    gateway = Gateway()
    set_level(gateway, 0, 2)
    assert code(gateway.client().call(request_, version)) == UNSUPPORTED_VERSION


def test_members_are_refused_and_served_again_at_the_next_level() -> None:
    jobs = Jobs()
    member = jobs.member("m1")
    jobs.produce(b"a")
    assert acquired(member.fetch(jobs.place)) == [(0, 0, 1)]
    set_level(jobs.gateway, 0, 2)
    assert member.beat().error_code == UNSUPPORTED_VERSION
    assert member.fetch().error_code == UNSUPPORTED_VERSION
    assert member.acknowledge(jobs.place, (0, 0, [ACCEPT])).error_code == UNSUPPORTED_VERSION
    set_level(jobs.gateway, 1, 1)
    assert member.acknowledge(jobs.place, (0, 0, [ACCEPT])).error_code == 0
    assert Member(jobs.gateway, "m2", "jobs").epoch > 0
