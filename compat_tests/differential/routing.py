"""The nodes of a cluster that get a step: those that lead or coordinate its subject, now and then another.

A request about partitions that several nodes lead is sent to each of them. One that was sent astray is sent
to the right node next, so that what follows in its sequence still means something.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, Final
from uuid import UUID

from compat_tests.differential.clusters import GROUPS_TOPIC, TRANSACTIONS_TOPIC, Leaders
from compat_tests.differential.plain import Names
from compat_tests.differential.pools import GROUP_IDS
from compat_tests.differential.steps import Step
from groups.record_keys import partition_for
from protocol.api_keys import ApiKey
from protocol.layout import Field, Layout, layout

ASTRAY_SHARE: Final = 0.2
"""The part of the steps that another node gets first."""

OF_PARTITIONS: Final = frozenset(
    {
        *(ApiKey.PRODUCE, ApiKey.FETCH, ApiKey.LIST_OFFSETS, ApiKey.OFFSET_FOR_LEADER_EPOCH),
        *(ApiKey.DELETE_RECORDS, ApiKey.DESCRIBE_PRODUCERS, ApiKey.WRITE_TXN_MARKERS),
        *(ApiKey.SHARE_FETCH, ApiKey.SHARE_ACKNOWLEDGE),
    }
)
"""The APIs that a leader answers; the others are a coordinator's, or any node's."""

OF_TRANSACTIONS: Final = frozenset(
    {
        *(ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN, ApiKey.END_TXN),
        ApiKey.DESCRIBE_TRANSACTIONS,
    }
)

OF_GROUPS: Final = frozenset(
    {
        *(ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP, ApiKey.HEARTBEAT, ApiKey.LEAVE_GROUP, ApiKey.OFFSET_COMMIT),
        *(ApiKey.OFFSET_FETCH, ApiKey.OFFSET_DELETE, ApiKey.DESCRIBE_GROUPS, ApiKey.DELETE_GROUPS),
        *(ApiKey.CONSUMER_GROUP_HEARTBEAT, ApiKey.CONSUMER_GROUP_DESCRIBE, ApiKey.TXN_OFFSET_COMMIT),
        *(ApiKey.SHARE_GROUP_HEARTBEAT, ApiKey.SHARE_GROUP_DESCRIBE, ApiKey.DELETE_SHARE_GROUP_OFFSETS),
    }
)

TRANSACTION_IDS: Final = frozenset({"transactional_id", "transactional_ids", "v3_and_below_transactional_id"})

NAMES: Final = ("name", "topic", "topic_name")
INDEXES: Final = ("partition", "partition_index", "index")
LISTS_OF_INDEXES: Final = ("partitions", "partition_indexes")


class Router:
    """The choice of nodes for the steps of one sequence."""

    def __init__(self, count: int, internal: Leaders, leaders: Leaders, names: Names, random: Random) -> None:
        """`leaders` and `names` are those of the cluster that is asked first, and change with it."""
        self._count = count
        self._internal = internal
        self._leaders = leaders
        self._names = names
        self._random = random
        self._of_sessions = random.randrange(count)

    def nodes(self, step: Step) -> list[int]:
        """Return the nodes that get a step, one after the other."""
        if step.api is ApiKey.FETCH and step.request.session_epoch >= 0:
            # A session belongs to one node, whatever it is about.
            return [self._of_sessions]
        right = list(dict.fromkeys(self._right(step)))
        if not right:
            return [self._random.randrange(self._count)]
        wrong = [number for number in range(self._count) if number not in right]
        if wrong and self._random.random() < ASTRAY_SHARE:
            return [self._random.choice(wrong), *right]
        return right

    def leader_of(self, topic: str, index: int) -> int | None:
        """Return the node that leads a partition, or None for one that does not exist."""
        led = self._leaders.get(topic, ())
        return led[index] if 0 <= index < len(led) else None

    def _right(self, step: Step) -> Iterator[int]:
        """Yield the nodes that can answer some of a step."""
        if step.api in OF_PARTITIONS:
            found = (self.leader_of(*place) for place in self._places(step.request, _shape(step)))
            yield from (number for number in found if number is not None)
        elif step.api in OF_TRANSACTIONS:
            yield from self._coordinators(step, TRANSACTION_IDS, TRANSACTIONS_TOPIC)
        elif step.api in OF_GROUPS:
            yield from self._coordinators(step, GROUP_IDS, GROUPS_TOPIC)

    def _places(self, value: Any, shape: Layout | None, topic: str = "") -> Iterator[tuple[str, int]]:
        """Yield each partition that a request, or a part of it, names."""
        fields = {field.name: (item, field.layout) for field, item in _fields(value, shape)}
        topic = next((fields[name][0] for name in NAMES if fields.get(name, ("",))[0]), topic)
        known, _ = fields.get("topic_id", (None, None))
        if isinstance(known, UUID):
            topic = self._names.name_of(known) or topic
        for name, (item, inner) in fields.items():
            if name in INDEXES and isinstance(item, int):
                yield topic, item
            for part in item if isinstance(item, list) else ():
                if name in LISTS_OF_INDEXES and isinstance(part, int):
                    yield topic, part
                yield from self._places(part, inner, topic)

    def _coordinators(self, step: Step, ids: frozenset[str], topic: str) -> Iterator[int]:
        """Yield the node that coordinates each id in a request, in the partition that its hash says."""
        led = self._internal[topic]
        for text in _texts(step.request, _shape(step), ids):
            yield led[partition_for(text, len(led))]


def _shape(step: Step) -> Layout:
    return layout(type(step.request), step.version)


def _fields(value: Any, shape: Layout | None) -> Iterator[tuple[Field, Any]]:
    """Yield the fields of a struct, with their values; nothing of other values."""
    if shape is not None:
        for field in (*shape.plain, *shape.tagged):
            yield field, getattr(value, field.name)


def _texts(value: Any, shape: Layout | None, names: frozenset[str]) -> Iterator[str]:
    """Yield the texts in those fields of a request, and of its parts, that have one of some names."""
    for field, item in _fields(value, shape):
        for part in item if isinstance(item, list) else [item]:
            if field.name in names and isinstance(part, str):
                yield part
            elif part is not None:
                yield from _texts(part, field.layout, names)
