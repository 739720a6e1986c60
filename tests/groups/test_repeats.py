"""A group that is named again and again is answered again only while that adds little."""

from __future__ import annotations

import pytest

from groups.errors import InvalidRequest
from groups.repeats import REPEATED_BYTES_MAX, Repeats
from protocol.error_codes import ErrorCode
from protocol.messages.describe_groups import DescribeGroupsRequest
from protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from tests.groups.driver import Driver, client, subscription
from tests.groups.kit import in_one_go

LARGE = [("range", subscription("t") + bytes(400_000))]


def test_the_first_time_is_free_and_repeats_have_a_limit() -> None:
    repeats = Repeats()
    repeats.check("g", 10 * REPEATED_BYTES_MAX)
    repeats.check("h", 10 * REPEATED_BYTES_MAX)
    small = Repeats()
    for _ in range(11):
        small.check("g", REPEATED_BYTES_MAX // 10)
    with pytest.raises(InvalidRequest, match="Group g is named again"):
        small.check("g", REPEATED_BYTES_MAX // 10)


def test_a_large_group_is_not_described_thousands_of_times() -> None:
    driver = Driver("t")
    driver.join("g", version=3, protocols=LARGE)
    request = DescribeGroupsRequest(groups=["g"] * 10_000)
    answer = in_one_go(driver.coordinator.describe_groups(request, client(6), driver.now_ms))
    codes = [group.error_code for group in answer.groups]
    assert codes == [ErrorCode.NONE] * 3 + [ErrorCode.INVALID_REQUEST] * 9_997
    assert [len(group.members) for group in answer.groups[:4]] == [1, 1, 1, 0]


def test_all_offsets_of_a_group_are_not_read_thousands_of_times() -> None:
    driver = Driver("t")
    driver.create_topic("wide", 1_000)
    driver.commit("g", {("wide", index): 1 for index in range(1_000)})
    asked = [OffsetFetchRequestGroup(group_id="g", member_id=None, topics=None) for _ in range(100)]
    answer = driver.call(driver.offset_fetch, OffsetFetchRequest(groups=asked), client(9)).value
    codes = [group.error_code for group in answer.groups]
    assert codes == [ErrorCode.NONE] * 6 + [ErrorCode.INVALID_REQUEST] * 94
