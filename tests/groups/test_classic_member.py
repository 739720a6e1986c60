"""Tests of groups/classic_member.py: members of classic groups and the answers owed to them."""

from __future__ import annotations

from groups.classic_member import (
    ClassicMember,
    join_refused,
    member_of_record,
    protocols_of,
    sync_refused,
)
from groups.record_schemas import MemberMetadata
from protocol.error_codes import ErrorCode
from protocol.messages.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from protocol.messages.sync_group import SyncGroupResponse
from tests.groups.kit import Answer


def member() -> ClassicMember:
    return ClassicMember(
        "m",
        instance_id="i",
        client_id="app",
        client_host="/h",
        session_timeout_ms=10,
        rebalance_timeout_ms=20,
        protocols=(("range", b"r"), ("sticky", b"s")),
        assignment=b"mine",
    )


def test_of_two_protocols_with_one_name_the_last_counts() -> None:
    asked = [JoinGroupRequestProtocol(name=name, metadata=blob) for name, blob in
             (("a", b"1"), ("b", b"2"), ("a", b"3"))]  # fmt: skip
    assert protocols_of(asked) == (("a", b"3"), ("b", b"2"))


def test_metadata_of_a_protocol_it_does_not_know_are_empty() -> None:
    assert (member().metadata("sticky"), member().metadata("other"), member().metadata(None)) == (
        b"s",
        b"",
        b"",
    )


def test_each_call_that_waits_is_answered_once() -> None:
    one = member()
    join, sync = Answer[JoinGroupResponse](), Answer[SyncGroupResponse]()
    one.join, one.sync = join, sync
    assert one.waits
    for _ in range(2):
        one.answer_join(join_refused(ErrorCode.UNKNOWN_MEMBER_ID, "m"))
        one.answer_sync(sync_refused(ErrorCode.REBALANCE_IN_PROGRESS))
    assert (join.error, sync.error) == (ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.REBALANCE_IN_PROGRESS)
    assert join.value.member_id == "m"
    assert not one.waits


def test_a_member_comes_back_from_its_record() -> None:
    found = member_of_record(member().record("range"), "range")
    assert (found.member_id, found.instance_id, found.client_id, found.client_host) == ("m", "i", "app", "/h")
    assert (found.session_timeout_ms, found.rebalance_timeout_ms) == (10, 20)
    assert (found.protocols, found.assignment, found.waits) == ((("range", b"r"),), b"mine", False)


def test_old_records_without_a_rebalance_timeout_mean_the_session_timeout() -> None:
    record = MemberMetadata(
        member_id="m", client_id="", client_host="", rebalance_timeout=-1, session_timeout=7,
        subscription=b"", assignment=b"",
    )  # fmt: skip
    assert member_of_record(record, None).rebalance_timeout_ms == 7
    assert member_of_record(record, None).protocols == ()
