"""The record of what a member has, of very many topics: the bytes are those of the schema."""

from __future__ import annotations

from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st

from groups.assignment import EpochAssignment
from groups.consumer_member import MemberAssignment
from groups.current_record import WIDE_TOPICS, current_bytes
from groups.record_schemas import ConsumerGroupCurrentMemberAssignmentValue, CurrentPartitions
from groups.states import MemberState
from protocol.wire import encode, joined

INT31 = st.integers(0, 2**31 - 1)
PARTITIONS = st.dictionaries(INT31, INT31, min_size=1, max_size=3)


@st.composite
def assignments(draw: st.DrawFn, most: int) -> EpochAssignment:
    """Return topics, many of which share what they have."""
    kinds = draw(st.lists(PARTITIONS, min_size=1, max_size=3))
    count = draw(st.integers(0, most))
    first = draw(st.integers(0, 2**120))
    return {UUID(int=first + number): kinds[number % len(kinds)] for number in range(count)}


def entries(assignment: EpochAssignment) -> list[CurrentPartitions]:
    return [
        CurrentPartitions(topic_id=topic, partitions=list(some), assignment_epochs=list(some.values()))
        for topic, some in assignment.items()
    ]


def by_schema(value: MemberAssignment) -> bytes:
    schema = ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=value.epoch,
        previous_member_epoch=value.previous_epoch,
        state=value.state,
        assigned_partitions=entries(value.assigned),
        partitions_pending_revocation=entries(value.revoking),
    )
    return b"\0\0" + joined(encode(schema, 0))


@given(
    assigned=assignments(3 * WIDE_TOPICS),
    revoking=assignments(WIDE_TOPICS),
    epochs=st.tuples(st.integers(-2, 2**31 - 1), st.integers(-2, 2**31 - 1)),
    state=st.sampled_from([state for state in MemberState if state != MemberState.UNKNOWN]),
)
def test_the_bytes_are_those_of_the_schema(
    assigned: EpochAssignment, revoking: EpochAssignment, epochs: tuple[int, int], state: MemberState
) -> None:
    value = MemberAssignment(
        epoch=epochs[0], previous_epoch=epochs[1], state=state, assigned=assigned, revoking=revoking
    )
    assert current_bytes(value) == by_schema(value)


def test_topics_without_a_common_mapping_are_each_written_with_their_own() -> None:
    assigned = {UUID(int=number): {number: number + 1} for number in range(2 * WIDE_TOPICS)}
    value = MemberAssignment(epoch=3, previous_epoch=2, state=MemberState.STABLE, assigned=assigned)
    assert current_bytes(value) == by_schema(value)
