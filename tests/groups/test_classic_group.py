"""Tests of groups/classic_group.py."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.classic_group import ClassicGroup
from groups.classic_member import ClassicMember, Protocols, join_refused
from protocol.error_codes import ErrorCode
from tests.groups.driver import subscription


def member(name: str, protocols: Protocols, instance_id: str | None = None) -> ClassicMember:
    return ClassicMember(
        name,
        instance_id=instance_id,
        client_id="c",
        client_host="/h",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=20_000,
        protocols=protocols,
    )


def ranged(*topics: str) -> Protocols:
    return (("range", subscription(*topics)),)


def group(*members: ClassicMember, protocol_type: str = "consumer") -> ClassicGroup:
    made = ClassicGroup("g")
    made.protocol_type = protocol_type
    for added in members:
        made.add(added)
    return made


@pytest.mark.parametrize(
    ("wishes", "chosen"),
    [
        ([["a"]], "a"),
        ([["a", "b"], ["b", "a"]], "a"),
        ([["a", "b"], ["b", "a"], ["b", "a"]], "b"),
        # A member that names a protocol twice knows it once.
        ([["x", "x", "a"], ["a"]], "a"),
        # A protocol that most prefer does not help a member that does not know it.
        ([["x", "a"], ["x", "a"], ["a"]], "a"),
        ([["x", "b", "a"], ["y", "a", "b"], ["b", "a"]], "b"),
    ],
)
def test_protocols_are_chosen_by_vote_among_those_all_know(wishes: list[list[str]], chosen: str) -> None:
    members = [
        member(f"m{number}", tuple((name, b"") for name in names)) for number, names in enumerate(wishes)
    ]
    made = group(*members)
    assert made.choose_protocol() == chosen
    made.begin_generation()
    assert (made.generation, made.protocol) == (1, chosen)


def common_protocols(found: ClassicGroup) -> set[str]:
    """Return the protocols that every member knows."""
    return {name for name, count in found.tally.names.items() if count == len(found.members)}


def test_the_first_member_leads_until_it_goes() -> None:
    made = group(member("a", ranged("t")), member("b", ranged("t")))
    assert made.leader == "a"
    made.remove("a")
    assert made.leader == "b"
    made.remove("b")
    assert made.leader is None


def test_topics_are_known_once_a_protocol_is_chosen() -> None:
    made = group(member("a", ranged("t", "u")), member("b", ranged("v")))
    assert made.subscribed_topics() is None
    assert made.subscribes("whatever")
    made.begin_generation()
    assert made.subscribed_topics() == frozenset({"t", "u", "v"})
    assert made.subscribes("t")
    assert not made.subscribes("w")


def test_topics_of_an_unreadable_subscription_are_unknown() -> None:
    made = group(member("a", (("range", b"\xff"),)))
    made.begin_generation()
    assert made.subscribed_topics() is None
    assert made.subscribes("whatever")


def test_members_of_other_protocol_types_subscribe_to_nothing_we_know() -> None:
    made = group(member("a", (("v0", b"\xff"),)), protocol_type="connect")
    made.begin_generation()
    assert made.subscribed_topics() is None
    assert not made.subscribes("t")


def test_generations_count_on_from_zero_after_the_last() -> None:
    made = group(member("a", ranged("t")))
    made.generation = 2**31 - 1
    made.begin_generation()
    assert made.generation == 0


def test_a_record_keeps_the_group() -> None:
    made = group(member("a", ranged("t"), instance_id="i"), member("b", ranged("u")))
    made.begin_generation()
    made.since_ms = 77
    again = ClassicGroup.from_record("g", made.record({"a": b"A", "b": b"B"}))
    assert (again.generation, again.protocol, again.protocol_type) == (1, "range", "consumer")
    assert (again.leader, again.since_ms, again.instances) == ("a", 77, {"i": "a"})
    assert [stored.assignment for stored in again.members.values()] == [b"A", b"B"]
    assert again.subscribed_topics() == frozenset({"t", "u"})


STEP = st.tuples(
    st.sampled_from(["add", "remove", "wait", "answer", "change", "replace"]),
    st.integers(0, 4),
    st.lists(st.sampled_from("abc"), unique=True, max_size=3),
)


@given(st.lists(STEP, max_size=40))
def test_what_is_counted_is_what_a_walk_over_the_members_finds(
    steps: list[tuple[str, int, list[str]]],
) -> None:
    counted = group()
    for number, (kind, which, names) in enumerate(steps):
        protocols = tuple((name, b"") for name in names)
        known = list(counted.members.values())
        if kind == "add":
            counted.add(member(f"m{number}", protocols, instance_id=f"i{number}"))
        elif known:
            chosen = known[which % len(known)]
            if kind == "remove":
                counted.remove(chosen.member_id)
            elif kind == "wait":
                chosen.join = lambda _: None
            elif kind == "answer":
                chosen.answer_join(join_refused(ErrorCode.NONE))
            elif kind == "change":
                chosen.protocols = protocols
            else:
                counted.replace_static(chosen.member_id, f"new-{number}")
    members = counted.members.values()
    assert counted.waiting_joins == sum(found.join is not None for found in members)
    assert counted.all_have_joined == all(found.join is not None for found in members)
    if members:
        orders = [[name for name, _ in found.protocols] for found in members]
        common = set("abc").intersection(*orders)
        assert common_protocols(counted) == common
        votes = [next((name for name in order if name in common), "") for order in orders]
        assert counted.choose_protocol() == min(votes, key=lambda name: (-votes.count(name), name))


def test_a_removed_member_counts_no_longer_whatever_becomes_of_it() -> None:
    gone = member("gone", ranged("t"))
    counted = group(member("stays", ranged("t")), gone)
    counted.remove("gone")
    gone.join = lambda _: None
    gone.protocols = (("other", b""),)
    assert (counted.waiting_joins, common_protocols(counted)) == (0, {"range"})
