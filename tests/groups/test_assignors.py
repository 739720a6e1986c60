"""The rules that every assignor keeps, and the group's choice of one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from groups.assignors import ASSIGNORS, assign, preferred
from groups.subscriber import Subscriber
from tests.groups.subscriptions import TOPICS, Case, again, cases, check_complete, moved, plain_members, sizes

every_assignor = st.sampled_from(sorted(ASSIGNORS))


@given(every_assignor, cases())
def test_each_wanted_partition_has_one_owner_that_wants_it(name: str, case: Case) -> None:
    members, counts = case
    check_complete(members, counts, assign(name, members, counts))


@given(every_assignor, cases(), st.randoms(use_true_random=False))
def test_the_order_of_the_input_does_not_matter(name: str, case: Case, chance: Random) -> None:
    members, counts = case
    mixed = list(members)
    chance.shuffle(mixed)
    shuffled = dict(sorted(counts.items(), key=lambda _: chance.random()))
    assert assign(name, mixed, shuffled) == assign(name, members, counts)


@given(every_assignor, cases())
def test_nothing_moves_when_nothing_changed(name: str, case: Case) -> None:
    members, counts = case
    found = assign(name, members, counts)
    assert assign(name, again(members, found), counts) == found


@given(st.sampled_from(["tdengine", "uniform"]), cases(equal=True))
def test_when_a_member_leaves_the_others_lose_nothing(name: str, case: Case) -> None:
    members, counts = case
    settled = again(members, assign(name, members, counts))
    staying = settled[1:]
    assert moved(staying, assign(name, staying, counts)) == 0


@given(st.sampled_from(["tdengine", "uniform"]), cases(equal=True))
def test_a_newcomer_gets_its_share_and_the_others_keep_the_rest(name: str, case: Case) -> None:
    members, counts = case
    settled = again(members, assign(name, members, counts))
    newcomer = Subscriber(member_id="new", topics=members[0].topics)
    found = assign(name, [*settled, newcomer], counts)
    assert moved(settled, found) == sum(map(len, found["new"].values()))


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@pytest.mark.parametrize(
    ("members", "shares"), [(1, [4]), (2, [2, 2]), (3, [2, 1, 1]), (4, [1, 1, 1, 1]), (5, [1, 1, 1, 1, 0])]
)
def test_four_partitions_are_divided_as_tdengine_says(name: str, members: int, shares: list[int]) -> None:
    names = [f"m{number}" for number in range(members)]
    assert sizes(assign(name, plain_members(*names), {TOPICS[0]: 4})) == shares


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
def test_nobody_and_nothing_can_be_assigned(name: str) -> None:
    assert assign(name, [], {TOPICS[0]: 4}) == {}
    assert assign(name, plain_members("a"), {}) == {"a": {}}


@pytest.mark.parametrize("name", sorted(ASSIGNORS))
@pytest.mark.parametrize("had", [(), (-5, 99), (0, 0), (2**31 - 1,)])
def test_an_assignment_that_nobody_could_have_had_is_no_obstacle(name: str, had: tuple[int, ...]) -> None:
    # A client may write such records into the topic by hand, or a topic have shrunk in a restored copy.
    members = [
        Subscriber(member_id=member_id, topics=frozenset(TOPICS[:1]), had={TOPICS[0]: frozenset(had)})
        for member_id in ("a", "b")
    ]
    assert sizes(assign(name, members, {TOPICS[0]: 4})) == [2, 2]


def test_the_assignor_most_members_ask_for_is_used() -> None:
    assert preferred([None, "range", "uniform", "range"], "tdengine") == "range"


def test_a_tie_goes_to_the_first_by_name() -> None:
    assert preferred(["uniform", "range"], "tdengine") == "range"


def test_the_default_is_used_where_nobody_asks() -> None:
    assert preferred([None, None], "tdengine") == "tdengine"
    assert preferred([], "tdengine") == "tdengine"
