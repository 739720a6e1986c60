"""Requests about share groups: what a client may not see of them, or do to them, is refused or left out."""

from __future__ import annotations

from broker.security.authorized_operations import Operation
from protocol.error_codes import ErrorCode
from protocol.messages.share_group_describe import NOT_REQUESTED, ShareGroupDescribeRequest
from protocol.wire import ZERO_UUID
from tests.broker.guarded import ALICE, GROUP, TOPIC
from tests.broker.guarded_shares import GuardedShares
from tests.broker.share_requests import altering, beating, deleting, describing, describing_all
from tests.broker.shares import Member

GROUP_DENIED = ErrorCode.GROUP_AUTHORIZATION_FAILED
TOPIC_DENIED = ErrorCode.TOPIC_AUTHORIZATION_FAILED
TOPIC_TEXT = "Topic authorization failed."


def left_group() -> GuardedShares:
    """Return a gateway with the empty group `g`, which has been at both topics."""
    guarded = GuardedShares()
    guarded.produce("open", b"a", b"b")
    guarded.produce("shut", b"a", b"b")
    Member(guarded, "m", "open", "shut").beat(epoch=-1)
    guarded.allow(Operation.DELETE, GROUP, "g")
    return guarded


def test_a_member_may_see_every_topic_that_it_subscribes_to() -> None:
    guarded = GuardedShares()
    answer = guarded.of(ALICE).call(beating("open", "shut", "other"), 1)
    assert (answer.error_code, answer.error_message) == (TOPIC_DENIED, None)
    assert guarded.of(ALICE).call(beating("open", "shut"), 1).error_code == 0


def test_a_heartbeat_is_judged_by_its_group_its_member_and_its_topics() -> None:
    guarded = GuardedShares()
    unnamed = beating("other", member_id="")
    assert guarded.of(ALICE).call(unnamed, 1).error_code == ErrorCode.INVALID_REQUEST
    assert guarded.of("User:bob").call(unnamed, 1).error_code == GROUP_DENIED


def test_a_group_with_a_hidden_topic_is_not_described() -> None:
    guarded = GuardedShares()
    Member(guarded, "m", "open", "shut")
    acl = guarded.deny(Operation.DESCRIBE, TOPIC, "shut")
    request = ShareGroupDescribeRequest(group_ids=["g", "h"], include_authorized_operations=True)
    denied, hidden = guarded.of(ALICE).call(request, 1).groups
    assert (denied.group_id, denied.error_code, denied.error_message) == ("h", GROUP_DENIED, None)
    assert (hidden.group_id, hidden.error_code, hidden.members) == ("g", TOPIC_DENIED, [])
    assert hidden.error_message == (
        "The group has described topic(s) that the client is not authorized to describe."
    )
    assert hidden.authorized_operations == NOT_REQUESTED
    guarded.take(acl)
    _, shown = guarded.of(ALICE).call(request, 1).groups
    assert (shown.error_code, len(shown.members)) == (0, 1)
    assert shown.authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_a_group_of_many_topics_is_described_in_slices() -> None:
    guarded = GuardedShares()
    for number in range(150):
        Member(guarded, f"m{number}", "open", "shut")
    guarded.deny(Operation.DESCRIBE, TOPIC, "shut")
    request = ShareGroupDescribeRequest(group_ids=["g"], include_authorized_operations=False)
    (hidden,) = guarded.of(ALICE).call(request, 1).groups
    assert hidden.error_code == TOPIC_DENIED


def test_progress_is_shown_for_the_groups_and_topics_that_may_be_seen() -> None:
    guarded = left_group()
    guarded.deny(Operation.DESCRIBE, TOPIC, "shut")
    request = describing("shut", "open", group_ids=("other", "g", "g"))
    *shown, denied = guarded.of(ALICE).call(request, 1).groups
    assert (denied.group_id, denied.error_code, denied.error_message) == ("other", GROUP_DENIED, None)
    for group in shown:
        open_topic, shut = group.topics
        assert (open_topic.topic_name, open_topic.partitions[0].error_code) == ("open", 0)
        assert (shut.topic_name, shut.topic_id) == ("shut", ZERO_UUID)
        (part,) = shut.partitions
        assert (part.start_offset, part.lag, part.leader_epoch) == (-1, -1, 0)
        assert (part.error_code, part.error_message) == (TOPIC_DENIED, TOPIC_TEXT)


def test_of_all_progress_what_may_not_be_seen_is_left_out() -> None:
    guarded = left_group()
    guarded.deny(Operation.DESCRIBE, TOPIC, "shut")
    (group,) = guarded.of(ALICE).call(describing_all("g"), 1).groups
    assert [topic.topic_name for topic in group.topics] == ["open"]
    (group,) = guarded.admin.call(describing_all("g"), 1).groups
    assert sorted(topic.topic_name for topic in group.topics) == ["open", "shut"]


def start_in(guarded: GuardedShares, topic: str) -> int:
    (group,) = guarded.admin.call(describing(topic), 1).groups
    offset: int = group.topics[0].partitions[0].start_offset
    return offset


def test_a_group_is_moved_in_the_topics_that_may_be_read() -> None:
    guarded = left_group()
    answer = guarded.of(ALICE).call(altering("open", "shut", "missing", offset=1), 0)
    found = [(topic.topic_name, topic.topic_id, topic.partitions[0].error_code) for topic in answer.responses]
    assert found == [
        ("shut", guarded.shut[0], TOPIC_DENIED),
        ("missing", ZERO_UUID, TOPIC_DENIED),
        ("open", guarded.open[0], 0),
    ]
    assert answer.responses[0].partitions[0].error_message == TOPIC_TEXT
    assert (start_in(guarded, "open"), start_in(guarded, "shut")) == (1, 0)


def test_moving_a_group_does_not_tell_whether_a_hidden_topic_exists() -> None:
    guarded = left_group()
    guarded.deny(Operation.DESCRIBE, TOPIC, "shut")
    answer = guarded.of(ALICE).call(altering("shut", "missing", offset=1), 0)
    assert [(topic.topic_id, topic.partitions[0].error_code) for topic in answer.responses] == [
        (ZERO_UUID, TOPIC_DENIED),
        (ZERO_UUID, TOPIC_DENIED),
    ]


def test_progress_is_forgotten_in_the_topics_that_may_be_read() -> None:
    guarded = left_group()
    answer = guarded.of(ALICE).call(deleting("open", "shut"), 0)
    found = [
        (topic.topic_name, topic.topic_id, topic.error_code, topic.error_message)
        for topic in answer.responses
    ]
    assert found == [
        ("shut", ZERO_UUID, TOPIC_DENIED, TOPIC_TEXT),
        ("open", guarded.open[0], 0, None),
    ]
    assert (start_in(guarded, "open"), start_in(guarded, "shut")) == (-1, 0)


def test_an_error_of_the_group_is_told_alone() -> None:
    guarded = GuardedShares()
    Member(guarded, "m", "open", "shut")
    guarded.allow(Operation.DELETE, GROUP, "g")
    for request in (altering("open", "shut"), deleting("open", "shut")):
        answer = guarded.of(ALICE).call(request, 0)
        assert (answer.error_code, answer.responses) == (ErrorCode.NON_EMPTY_GROUP, [])


def test_ten_thousand_topics_are_checked_in_slices() -> None:
    guarded = left_group()
    answer = guarded.of(ALICE).call(altering("open", *(f"t{number}" for number in range(10_000))), 0)
    codes = [topic.partitions[0].error_code for topic in answer.responses]
    assert codes == [TOPIC_DENIED] * 10_000 + [0]
