"""Requests drawn from the declarations of the messages: every field gets a value of its pool.

A new API is covered from its first day; requests that must fit together are written by hand in themes/.
"""

from __future__ import annotations

from typing import Any

from compat_tests.batches import Batch
from compat_tests.differential.pools import CONFIGS, OF_REPLICAS, values_for
from compat_tests.differential.steps import Step
from compat_tests.differential.world import World
from protocol.api_keys import ApiKey
from protocol.layout import Field, Layout, layout
from protocol.messages import request_type
from protocol.messages.alter_configs import AlterConfigsRequest
from protocol.messages.describe_topic_partitions import DescribeTopicPartitionsRequest, TopicRequest
from protocol.messages.produce import ProduceRequest
from protocol.schema import ArrayOf, Records

BROKER = 4
NULL_SHARE, DEFAULT_SHARE = 0.1, 0.3
COUNTS = (0, 1, 1, 1, 2, 2, 3)
"""The numbers of elements that an array may get."""


def wild_step(api: ApiKey, version: int, world: World) -> Step:
    """Draw one request of an API in one version."""
    cls = request_type(api)
    request = _struct(layout(cls, version), world)
    if isinstance(request, ProduceRequest):
        tidy(request)
    if isinstance(request, AlterConfigsRequest) and any(
        (resource.resource_type, resource.resource_name) == (BROKER, "") for resource in request.resources
    ):
        # Kafka refuses to replace what all nodes share (allow_list.py): the two would differ from here on.
        request.validate_only = True
    if isinstance(request, DescribeTopicPartitionsRequest) and not request.topics:
        # All topics are those of every sequence: pages of them would not be the same for one sequence alone.
        request.topics = [TopicRequest(name=name) for name in world.existing]
    return Step(request, version)


def tidy(request: ProduceRequest) -> None:
    """Remove what would make the logs of the two brokers differ from here on; see allow_list.py.

    Of a partition named twice Kafka drops the first batch; it refuses all neighbours of an unreadable batch.
    """
    named = set()
    count = sum(len(topic.partition_data) for topic in request.topic_data)
    for topic in request.topic_data:
        kept = []
        for data in topic.partition_data:
            key = (topic.name, topic.topic_id, data.index)
            records: Any = data.records
            readable = isinstance(records, Batch) and records.magic < 3
            if key in named or (count > 1 and not readable):
                continue
            named.add(key)
            kept.append(data)
        topic.partition_data = kept


def _struct(shape: Layout, world: World) -> Any:
    if shape.cls.__name__ in ("CreatableTopicConfig", "AlterableConfig"):
        name, value = world.random.choice(CONFIGS)
        known = {"name": name, "value": value}
    else:
        known = {}
    fields = {
        field.name: known[field.name] if field.name in known else _value(field, shape, world)
        for field in (*shape.plain, *shape.tagged)
    }
    return shape.cls(**fields)


def _value(field: Field, shape: Layout, world: World) -> Any:
    random = world.random
    if (shape.cls.__name__, field.name) in OF_REPLICAS:
        return field.default
    tagged_or_ignorable = field.tag is not None
    if tagged_or_ignorable and random.random() < DEFAULT_SHARE:
        return field.default
    if field.nullable and field.kind is not Records and random.random() < NULL_SHARE:
        return None
    if not isinstance(field.kind, ArrayOf):
        return _item(field, field.kind, shape, world)
    return [_item(field, field.kind.element, shape, world) for _ in range(random.choice(COUNTS))]


def _item(field: Field, kind: Any, shape: Layout, world: World) -> Any:
    if field.layout is not None and isinstance(kind, type):
        return _struct(field.layout, world)
    found = world.random.choice(values_for(shape.cls.__name__, field.name, kind, world))
    return field.default if found is None and not field.nullable and kind is not Records else found
