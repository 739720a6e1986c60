"""Members and topics for the assignors' tests, and a check that every assignment must pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

from hypothesis import strategies as st

from groups.assignment import Assignment
from groups.subscriber import Subscriber

TOPICS = [UUID(int=number) for number in range(1, 6)]
Case = tuple[list[Subscriber], dict[UUID, int]]


@st.composite
def cases(draw: st.DrawFn, *, equal: bool = False) -> Case:
    """Draw topics, and members with what they had, which may include deleted partitions and topics."""
    counts = draw(st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 9), min_size=1))
    names = draw(st.lists(st.integers(0, 30), min_size=1, max_size=8, unique=True))
    wishes = st.frozensets(st.sampled_from(TOPICS), min_size=1)
    wanted = draw(wishes)
    owners = st.dictionaries(
        st.tuples(st.sampled_from(TOPICS), st.integers(0, 10)), st.sampled_from(names), max_size=25
    )
    had: dict[int, dict[UUID, set[int]]] = {}
    for (topic_id, index), name in draw(owners).items():
        had.setdefault(name, {}).setdefault(topic_id, set()).add(index)
    members = [
        Subscriber(
            member_id=f"m{name}",
            topics=wanted if equal else draw(wishes),
            had={topic_id: frozenset(indexes) for topic_id, indexes in had.get(name, {}).items()},
        )
        for name in names
    ]
    return members, counts


def check_complete(
    members: Sequence[Subscriber], counts: Mapping[UUID, int], found: Mapping[str, Assignment]
) -> None:
    """Check that each partition that any member wants has one owner, which wants it."""
    assert set(found) == {member.member_id for member in members}
    owned: dict[tuple[UUID, int], str] = {}
    for member in members:
        for topic_id, indexes in found[member.member_id].items():
            assert topic_id in member.topics
            assert indexes
            for index in indexes:
                assert (topic_id, index) not in owned
                owned[topic_id, index] = member.member_id
    wanted = {topic_id for member in members for topic_id in member.topics} & set(counts)
    assert set(owned) == {(topic_id, index) for topic_id in wanted for index in range(counts[topic_id])}


def again(members: Sequence[Subscriber], found: Mapping[str, Assignment]) -> list[Subscriber]:
    """Return the members as they are after the assignment."""
    return [
        Subscriber(member_id=member.member_id, topics=member.topics, had=found[member.member_id])
        for member in members
    ]


def moved(members: Sequence[Subscriber], found: Mapping[str, Assignment]) -> int:
    """Count partitions that members had and lost although they still want the topic."""
    return sum(
        len(indexes - found.get(member.member_id, {}).get(topic_id, frozenset()))
        for member in members
        for topic_id, indexes in member.had.items()
    )


def plain_members(*names: str, topics: Sequence[UUID] = TOPICS[:1]) -> list[Subscriber]:
    return [Subscriber(member_id=name, topics=frozenset(topics)) for name in names]


def sizes(found: Mapping[str, Assignment]) -> list[int]:
    """Return how many partitions the members have, the most first."""
    return sorted((sum(map(len, assigned.values())) for assigned in found.values()), reverse=True)
