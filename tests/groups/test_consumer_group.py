"""Tests of groups/consumer_group.py: records make the group, and can be undone."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from groups.consumer_group import ConsumerGroup, ConsumerGroupKey
from groups.consumer_member import MemberAssignment, MemberMetadata
from groups.record_keys import (
    CurrentKey,
    GroupEpoch,
    GroupEpochKey,
    MemberKey,
    RegexKey,
    ResolvedRegex,
    TargetEpoch,
    TargetEpochKey,
    TargetKey,
)
from tests.groups.consumers import DURABLE

T = UUID(int=1)
members = st.sampled_from(["a", "b", "c"])
partitions = st.frozensets(st.integers(0, 3))


def metadata(topics: tuple[str, ...], regex: str, instance_id: str | None) -> MemberMetadata:
    return MemberMetadata(
        client_id="c", client_host="/h", topics=topics, regex=regex, instance_id=instance_id
    )


def current(assigned: frozenset[int], revoking: frozenset[int]) -> MemberAssignment:
    return MemberAssignment(
        epoch=1,
        assigned={T: dict.fromkeys(assigned, 1)} if assigned else {},
        revoking={T: dict.fromkeys(revoking - assigned, 1)} if revoking - assigned else {},
    )


records = st.one_of(
    st.tuples(
        st.just(GroupEpochKey("g")), st.none() | st.builds(GroupEpoch, st.integers(1, 9), st.integers(0, 9))
    ),
    st.tuples(
        st.just(TargetEpochKey("g")), st.none() | st.builds(TargetEpoch, st.integers(1, 9), st.just(0))
    ),
    st.tuples(
        st.builds(MemberKey, st.just("g"), members),
        st.none()
        | st.builds(
            metadata,
            st.sampled_from([(), ("t",), ("t", "u")]),
            st.sampled_from(["", "x.*"]),
            st.sampled_from([None, "i", "j"]),
        ),
    ),
    st.tuples(
        st.builds(TargetKey, st.just("g"), members), st.none() | partitions.map(lambda found: {T: found})
    ),
    st.tuples(
        st.builds(CurrentKey, st.just("g"), members), st.none() | st.builds(current, partitions, partitions)
    ),
    st.tuples(
        st.just(RegexKey("g", "x.*")),
        st.none() | st.builds(ResolvedRegex, st.frozensets(st.sampled_from(["x1", "x2"])), st.just(0)),
    ),
)


def state(group: ConsumerGroup) -> dict[str, Any]:
    found = {name: getattr(group, name) for name in (*DURABLE, "instances", "owners")}
    copied = {name: dict(value) if isinstance(value, dict) else value for name, value in found.items()}
    return copied | {"subscriptions": set(group.subscriptions)}


@given(st.lists(records, max_size=25), st.integers(0, 25))
def test_records_can_be_taken_back_in_reverse(history: list[tuple[ConsumerGroupKey, Any]], keep: int) -> None:
    group = ConsumerGroup("g")
    for key, value in history[:keep]:
        # Two members never hold one partition, so their records come apart.
        group.replay(key, None if isinstance(key, CurrentKey) else value)
    before = state(group)
    undo = [group.replay(key, value) for key, value in history[keep:] if not isinstance(key, CurrentKey)]
    for step in reversed(undo):
        step()
    assert state(group) == before


@given(st.lists(records, max_size=30))
def test_what_follows_from_records_is_what_they_say(history: list[tuple[ConsumerGroupKey, Any]]) -> None:
    group = ConsumerGroup("g")
    for key, value in history:
        group.replay(key, value)
    assert set(group.subscriptions) == {(member.topics, member.regex) for member in group.metadata.values()}
    for instance_id, member_id in group.instances.items():
        assert group.metadata[member_id].instance_id == instance_id
    for topic_id, owners in group.owners.items():
        assert owners
        for index, member_id in owners.items():
            found = group.assignment(member_id)
            assert index in found.assigned.get(topic_id, {}) or index in found.revoking.get(topic_id, {})
            assert group.owner((topic_id, index)) == member_id


def test_a_member_exists_once_its_metadata_are_there() -> None:
    group = ConsumerGroup("g")
    group.replay(CurrentKey("g", "a"), current(frozenset({0}), frozenset()))
    assert group.metadata == {}
    assert group.owner((T, 0)) == "a"
    group.replay(MemberKey("g", "a"), metadata(("t",), "", None))
    assert list(group.metadata) == ["a"]


def test_a_group_is_blank_when_its_last_record_is_deleted() -> None:
    group = ConsumerGroup("g")
    blank = [group.blank]
    group.replay(MemberKey("g", "a"), metadata(("t",), "", None))
    group.replay(GroupEpochKey("g"), GroupEpoch(1, 0))
    group.replay(MemberKey("g", "a"), None)
    blank.append(group.blank)
    group.replay(GroupEpochKey("g"), None)
    blank.append(group.blank)
    assert blank == [True, False, True]


def test_topics_of_an_unresolved_pattern_are_unknown() -> None:
    group = ConsumerGroup("g")
    group.replay(MemberKey("g", "a"), metadata(("t",), "x.*", None))
    assert group.subscribed_names() == {"t"}
    group.replay(RegexKey("g", "x.*"), ResolvedRegex(frozenset({"x1"}), 0))
    assert group.subscribed_names() == {"t", "x1"}


wants = st.one_of(st.none(), st.sets(st.sampled_from("tuvw"), max_size=3))
asks = st.booleans()


@given(st.lists(st.tuples(members, wants, asks, st.booleans())))
def test_the_names_of_a_group_are_those_of_its_members_whenever_it_is_asked(
    steps: list[tuple[str, set[str] | None, bool, bool]],
) -> None:
    group, model = ConsumerGroup("g"), dict[str, set[str]]()
    for member_id, wanted, is_asked, is_undone in steps:
        value = None if wanted is None else metadata(tuple(sorted(wanted)), "", None)
        undo = group.replay(MemberKey("g", member_id), value)
        if is_undone:
            undo()
        elif wanted is None:
            model.pop(member_id, None)
        else:
            model[member_id] = wanted
        if is_asked:
            assert group.subscribed_names() == frozenset().union(*model.values())
    assert group.subscribed_names() == frozenset().union(*model.values())
