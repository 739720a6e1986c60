"""Tests of groups/consumer_member.py: the stored data of a member of a consumer group."""

from __future__ import annotations

from groups.consumer_member import AWAY_EPOCH, JOINING_EPOCH, NEW_MEMBER, MemberMetadata
from groups.record_keys import CurrentKey, MemberKey
from groups.records import decode_record, encode_record
from groups.states import MemberState
from tests.groups.consumers import epoch_of, group_of
from tests.groups.driver import Driver


def test_a_new_member_has_nothing_in_the_epoch_of_joining() -> None:
    assert (NEW_MEMBER.epoch, NEW_MEMBER.previous_epoch) == (JOINING_EPOCH, JOINING_EPOCH)
    assert (NEW_MEMBER.state, NEW_MEMBER.assigned, NEW_MEMBER.revoking) == (MemberState.STABLE, {}, {})


def test_members_are_what_their_records_say() -> None:
    wanted = MemberMetadata(client_id="app", client_host="/h", topics=("t",), rebalance_timeout_ms=5)
    for key, value in ((MemberKey("g", "a"), wanted), (CurrentKey("g", "a"), NEW_MEMBER)):
        assert decode_record(*encode_record(key, value)) == (key, value)


def test_a_static_member_that_left_for_a_while_is_kept_in_an_epoch_of_its_own(driver: Driver) -> None:
    driver.join_consumer("g", "a", "t", instance_id="i")
    driver.beat("g", "a", AWAY_EPOCH, instance_id="i")
    assert epoch_of(driver, "a") == AWAY_EPOCH
    assert group_of(driver).away("a")
