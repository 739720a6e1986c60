"""Mistakes in a heartbeat, whatever the group."""

from __future__ import annotations

import pytest

from groups.errors import InvalidRequest
from groups.share.group_records import ShareMember
from groups.share.heartbeat import check_request, refused, wanted_by
from groups.topics import Client
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest

CLIENT = Client(1, "c", "/h")


def request(
    member_id: str = "m1",
    epoch: int = 0,
    *topics: str,
    group_id: str = "g",
    rack_id: str | None = None,
) -> ShareGroupHeartbeatRequest:
    return ShareGroupHeartbeatRequest(
        group_id=group_id,
        member_id=member_id,
        member_epoch=epoch,
        rack_id=rack_id,
        subscribed_topic_names=list(topics) or None,
    )


@pytest.mark.parametrize(
    "wrong",
    [
        request("", 0, "a"),
        request(" ", 5),
        request("x" * 37, 0, "a"),
        request("m1", 0, "a", group_id=" "),
        request("m1", 0, "a", rack_id=""),
        request("m1", 0),
        request("m1", -2),
    ],
)
def test_an_impossible_heartbeat_is_an_invalid_request(wrong: ShareGroupHeartbeatRequest) -> None:
    with pytest.raises(InvalidRequest):
        check_request(wrong)


@pytest.mark.parametrize("right", [request("x" * 36, 0, "a"), request("m1", 7), request("m1", -1)])
def test_a_possible_heartbeat_passes(right: ShareGroupHeartbeatRequest) -> None:
    check_request(right)


def test_null_fields_change_nothing() -> None:
    first = wanted_by(request("m1", 0, "b", "a", "b", rack_id="r"), CLIENT, None)
    assert first == ShareMember("c", "/h", ("a", "b"), "r")
    assert wanted_by(request("m1", 5), CLIENT, first) == first
    assert wanted_by(request("m1", 5, "d"), CLIENT, first) == ShareMember("c", "/h", ("d",), "r")


def test_a_refusal_has_its_code() -> None:
    assert refused(ErrorCode.UNKNOWN_MEMBER_ID, "why").error_message == "why"
