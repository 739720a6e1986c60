"""DescribeConfigs: v1-4.

Behaviour: every config of a topic, of this node, of all nodes (BROKER with the empty name: the values that
clients have set), of a group or of this node's loggers, with its effective value, source, synonyms, type and
documentation.  An empty list of keys means all keys, as null does (seen with Kafka 4.3.1).
Differences from Apache Kafka: client metrics are not collected, so no subscription has configs.  An answer
has at most a million configs, or what fits into the memory for requests; the resources after that have the
error INVALID_REQUEST.
Version notes: v1 synonyms (KIP-226); v3 types and documentation (KIP-569); v4 flexible.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import filterfalse
from operator import attrgetter
from typing import TYPE_CHECKING

from broker.catalogue.config_resources import ResourceType, node_id_of
from broker.catalogue.topic_admin import check_name
from broker.catalogue.topic_configs import described as described_topic
from broker.catalogue.view_admin import shown_configs
from broker.config.config_keys import ConfigSource
from broker.config.config_layers import is_changeable
from broker.config.described_configs import Described
from broker.config.group_configs import described as described_group
from broker.config.kawal_topic_keys import FIXED_NAMES
from broker.config.server_configs import described as described_server
from broker.config.server_configs import described_defaults
from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import Steps, WaitingSteps, in_slices, made_of
from protocol.error_codes import ErrorCode
from protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from broker.core import Broker

KINDS = tuple(ResourceType)


ENTRIES_MAX = 1_000_000
"""The configs in one answer, about 60 MB without documentation: those of 25,000 topics."""

DOCUMENTED_FACTOR = 3
"""An entry with its documentation counts as this many."""

RESULT_BYTES = 300
"""The memory of a resource's result, besides its entries."""

ENTRY_BYTES = 8
"""The memory of an entry: results refer to it, and few differ."""

WIDE_RESOURCES = 1_000
"""The resources from which on requests are served one by one: their results are in memory at once."""

RESOURCES_PER_SLICE = 20
"""The number of resources described without a pause."""


def handle(broker: Broker, call: Call[DescribeConfigsRequest]) -> DescribeConfigsResponse | Steps:
    """Describe each resource on its own."""
    resources = call.request.resources
    kinds = map(attrgetter("resource_type"), resources)
    unknown = next(filterfalse(KINDS.__contains__, kinds), None)
    steps: WaitingSteps = _describe_all(broker, call) if unknown is None else _refuse_all(resources, unknown)
    if len(resources) >= WIDE_RESOURCES:
        steps = broker.memory.wide.made(call.api_key, steps)
    answer: DescribeConfigsResponse | Steps = in_slices(steps, len(resources), per_slice=RESOURCES_PER_SLICE)
    return answer


def _refuse_all(resources: list[DescribeConfigsResource], unknown: int) -> Steps:
    results = yield from made_of(resources, lambda resource: _of_unknown_kind(resource, unknown))
    return DescribeConfigsResponse(results=results)


def _describe_all(broker: Broker, call: Call[DescribeConfigsRequest]) -> Steps:
    entries = _Entries(call)
    results = yield from made_of(
        call.request.resources,
        lambda resource: _describe(broker, call.request, resource, entries),
        per_step=1,
    )
    return DescribeConfigsResponse(results=results)


class _Entries:
    """The entries of one answer: equal ones, such as the defaults of all topics, are in memory once."""

    __slots__ = ("_call", "_known", "count")

    def __init__(self, call: Call[DescribeConfigsRequest]) -> None:
        self._call = call
        self._known: dict[tuple[object, ...], DescribeConfigsResourceResult] = {}
        self.count = 0

    def shown(self, entry: Described, *, read_only: bool) -> DescribeConfigsResourceResult:
        """Return the entry as the request wants it."""
        identity = (id(entry.key), entry.value, entry.source, read_only, tuple(entry.synonyms))
        found = self._known.get(identity)
        if found is None:
            found = self._known[identity] = _entry(entry, self._call.request, read_only=read_only)
        return found

    def add(self, count: int) -> None:
        """Count the entries of a resource, and their memory.  Raises: RequestError when they are too many."""
        connection, size_bytes = self._call.connection, RESULT_BYTES + ENTRY_BYTES * count
        if self._call.request.include_documentation:
            count *= DOCUMENTED_FACTOR
        if self.count + count > ENTRIES_MAX:
            why = f"the answer would have more than {ENTRIES_MAX} configs; ask for fewer resources or keys"
            raise RequestError(ErrorCode.INVALID_REQUEST, why)
        if not connection.may_keep(self._call.weight_bytes + size_bytes):
            why = "the memory for requests is full (queued.max.request.bytes); ask for less, or later"
            raise RequestError(ErrorCode.INVALID_REQUEST, why)
        connection.weigh(self._call, self._call.weight_bytes + size_bytes)
        self.count += count


def _of_unknown_kind(resource: DescribeConfigsResource, unknown: int) -> DescribeConfigsResult:
    """Refuse a resource because one of unknown kind refuses the whole request, as with Kafka."""
    known = ", ".join(f"{kind} {kind.name}" for kind in KINDS)
    return DescribeConfigsResult(
        error_code=ErrorCode.INVALID_REQUEST,
        error_message=f"resource type {unknown} is none of {known}",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )


def _describe(
    broker: Broker, request: DescribeConfigsRequest, resource: DescribeConfigsResource, answer: _Entries
) -> DescribeConfigsResult:
    result = DescribeConfigsResult(
        error_message="",
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[],
    )
    wanted = set(resource.configuration_keys or ())
    try:
        if resource.resource_type == ResourceType.BROKER_LOGGER:
            entries = _loggers(broker, resource.resource_name)
        else:
            is_broker = resource.resource_type == ResourceType.BROKER
            entries = [
                answer.shown(
                    entry,
                    read_only=entry.key.name in FIXED_NAMES or (is_broker and not is_changeable(entry.key)),
                )
                for entry in _described(broker, resource)
            ]
        shown = [entry for entry in entries if not wanted or entry.name in wanted]
        answer.add(len(shown))
        result.configs = shown
    except RequestError as error:
        result.error_code, result.error_message = error.code, error.message
    return result


def _described(broker: Broker, resource: DescribeConfigsResource) -> Iterable[Described]:
    name, layers = resource.resource_name, broker.live_config.layers
    match resource.resource_type:
        case ResourceType.TOPIC:
            check_name(name)
            topic = broker.catalogue.find(name)
            if topic is None:
                raise RequestError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "")
            return described_topic(shown_configs(topic), layers, broker.catalogue.databases[topic.database])
        case ResourceType.BROKER:
            if not name:
                return described_defaults(layers)
            _check_node(broker, name, ", expected {} or empty string, but received {}")
            return described_server(layers, is_controller=broker.nodes.is_controller)
        case ResourceType.GROUP:
            if not name:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")
            return described_group(broker.catalogue.group_configs.get(name, {}), layers)
        case _:
            assert resource.resource_type == ResourceType.CLIENT_METRICS
            if not name:
                why = "Client metrics subscription name must not be empty"
                raise RequestError(ErrorCode.INVALID_REQUEST, why)
            return ()


def _check_node(broker: Broker, name: str, sentence: str) -> None:
    try:
        node_id = node_id_of(name)
    except RequestError as error:
        raise RequestError(error.code, f"Broker id must be an integer, but it is: {name}") from error
    if node_id != broker.config.node_id:
        expected = sentence.format(broker.config.node_id, name)
        raise RequestError(ErrorCode.INVALID_REQUEST, f"Unexpected broker id{expected}")


def _loggers(broker: Broker, name: str) -> list[DescribeConfigsResourceResult]:
    if not name:
        raise RequestError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    _check_node(broker, name, ", expected {} but received {}")
    return [
        DescribeConfigsResourceResult(
            name=logger,
            value=level,
            read_only=False,
            config_source=ConfigSource.DYNAMIC_BROKER_LOGGER_CONFIG,
            is_sensitive=False,
            synonyms=[],
        )
        for logger, level in broker.loggers.levels().items()
    ]


def _entry(
    entry: Described, request: DescribeConfigsRequest, *, read_only: bool
) -> DescribeConfigsResourceResult:
    key = entry.key
    return DescribeConfigsResourceResult(
        name=key.name,
        value=None if key.sensitive else entry.value,
        read_only=read_only,
        config_source=entry.source,
        is_sensitive=key.sensitive,
        synonyms=[
            DescribeConfigsSynonym(
                name=synonym.name, value=None if key.sensitive else synonym.value, source=synonym.source
            )
            for synonym in entry.synonyms
        ]
        if request.include_synonyms
        else [],
        config_type=key.type,
        documentation=key.doc if request.include_documentation else None,
    )
