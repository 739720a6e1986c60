"""The partitions in which a group has a state: those that are missing, and noting that they are there.

One record names them all.  Of very many a thread writes it:

note = membership.note(order, names)       a value: what the group had, and what is new
note.prepare()                             in a thread
membership.noted(note)                     False: the group's states have changed meanwhile; make another note
membership.states_noted(order.group_id)    in another turn: assigns, and answers those that waited
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress, filterfalse, repeat
from operator import attrgetter, is_, lt
from typing import Final
from uuid import UUID

from groups.context import Context
from groups.effects import EncodedRecord
from groups.share.gates import share_withheld
from groups.share.group_records import (
    Initialized,
    InitializedTopic,
    ShareStatesKey,
    encode_share_record,
)
from groups.share.share_group import ShareGroup
from groups.topics import TopicFacts
from protocol.parts import parts_of

NO_STATES: Final = InitializedTopic("", frozenset())


class StatesNote:
    """The states of a group once those of an order are among them."""

    __slots__ = ("_names", "_partitions", "base", "encoded", "group", "states")

    def __init__(
        self, group: ShareGroup, partitions: Iterable[tuple[UUID, int]], names: Mapping[UUID, str]
    ) -> None:
        """`names` are those of the topics; partitions of others are left out, as they were deleted."""
        self.group = group
        self.base = group.initialized
        self.states: Initialized = {}
        self.encoded: EncodedRecord = (b"", None)
        self._partitions = partitions
        self._names = names

    def prepare(self) -> None:
        """Join what there was and what is new, and write the record."""
        self.states = joined(self.base, self._partitions, self._names)
        self.encoded = encode_share_record(ShareStatesKey(self.group.group_id), self.states)


def joined(
    base: Initialized, partitions: Iterable[tuple[UUID, int]], names: Mapping[UUID, str]
) -> Initialized:
    """Return the states of `base` with those in these partitions, but for topics without a name."""
    made: dict[UUID, set[int]] = {}
    for topic_id, partition in partitions:
        made.setdefault(topic_id, set()).add(partition)
    states = dict(base)
    for topic_id, new in made.items():
        # Each look-up of an id runs a function of Python.
        name = names.get(topic_id)
        if name is not None:
            before = states.get(topic_id)
            both = new if before is None else new | before.partitions
            states[topic_id] = InitializedTopic(name, frozenset(both))
    return states


def missing_states(context: Context, group: ShareGroup) -> Iterable[tuple[UUID, int]]:
    """Return the partitions that members ask for, that are not held back, and that have no state."""
    by_name, states = context.topics.by_name, group.initialized
    if not context.splits.topics:
        return missing_without_splits(by_name, group.names, states)
    topics = _topics_of(by_name, group.names)
    held_back = {topic.name: share_withheld(context, group, topic.name, topic.topic_id) for topic in topics}
    return _missing_one_by_one(topics, states, held_back)


def missing_without_splits(
    by_name: Mapping[str, TopicFacts], names: Iterable[str], states: Initialized
) -> Iterable[tuple[UUID, int]]:
    """Return the partitions of these topics, of which none is held back, that are not among the states.

    A thread may ask: topics that come or go meanwhile may be seen or not.
    """
    topics = _topics_of(by_name, names)
    if not states:
        ids = map(repeat, map(attrgetter("topic_id"), topics))
        return chain.from_iterable(map(zip, ids, map(range, map(attrgetter("partition_count"), topics))))
    return _missing_one_by_one(compress(topics, _may_lack_states(states, topics)), states, {})


def _topics_of(by_name: Mapping[str, TopicFacts], names: Iterable[str]) -> list[TopicFacts]:
    # Without a line of Python for each name: a member may have 20,000. One look-up of each: a thread may ask.
    found: list[TopicFacts] = []
    for part in parts_of(names):
        found += filterfalse(partial(is_, None), map(by_name.get, part))  # type: ignore[arg-type]
    return found


def _may_lack_states(states: Initialized, topics: Sequence[TopicFacts]) -> Iterator[bool]:
    """Return whether there are fewer states in each of the topics than that has partitions."""
    found = map(states.get, map(attrgetter("topic_id"), topics), repeat(NO_STATES))
    return map(lt, map(len, map(attrgetter("partitions"), found)), map(attrgetter("partition_count"), topics))


def _missing_one_by_one(
    topics: Iterable[TopicFacts], states: Initialized, held_back: Mapping[str, frozenset[int]]
) -> Iterator[tuple[UUID, int]]:
    for topic in topics:
        there = held_back.get(topic.name, NO_STATES.partitions)
        if (state := states.get(topic.topic_id)) is not None:
            there |= state.partitions
        if len(there) < topic.partition_count or not there.issuperset(range(topic.partition_count)):
            for partition in range(topic.partition_count):
                if partition not in there:
                    yield topic.topic_id, partition
