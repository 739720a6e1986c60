"""Topics that a client's Metadata request creates; on a node that follows the catalogue, the controller does.

Source: Kafka's AutoTopicCreationManager, which sends CreateTopics in an envelope, too.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from broker.catalogue.asking import Node, ask
from broker.catalogue.topic_admin import NewTopic, offsets_topic, share_state_topic, transactions_topic
from broker.catalogue.topics import OFFSETS_TOPIC, SHARE_STATE_TOPIC, TRANSACTIONS_TOPIC
from broker.errors import RequestError
from broker.loop.call import Call
from broker.loop.slices import Until, made_of
from broker.security.authorized_operations import Operation
from protocol.api_keys import ApiKey
from protocol.error_codes import ErrorCode
from protocol.wire import ZERO_UUID

if TYPE_CHECKING:
    from protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

VERSION: Final = 7

WAIT_MS: Final = 5_000
"""How long the controller is waited for: clients ask again for topics that they do not find."""

PASSING: Final = frozenset(
    {
        ErrorCode.NONE,
        ErrorCode.TOPIC_ALREADY_EXISTS,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
        ErrorCode.NOT_CONTROLLER,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)
"""What leaves the client to ask again: the topic exists by then, or is asked for once more."""


_INTERNAL: Final = {OFFSETS_TOPIC: offsets_topic, TRANSACTIONS_TOPIC: transactions_topic}
"""The topics that are made as their coordinators make them."""


def create_missing(
    node: Node, call: Call[MetadataRequest], asked: list[MetadataRequestTopic]
) -> Generator[Until | None, None, dict[str, ErrorCode]]:
    """Create the named topics that do not exist; return the errors of those that are refused."""
    refused: dict[str, ErrorCode] = {}
    most = node.config.kawal_max_partitions_per_request
    if node.nodes.is_controller:
        room = Room(most)
        yield from made_of(asked, lambda item: _create_missing(node, call, item, refused, room), per_step=5)
        return refused
    missing = yield from made_of(asked, lambda item: _missing(node, call, item, refused))
    names = list(filter(None, missing))[: max(1, most // node.config.num_partitions)]
    if names:
        refused |= yield from _have_created(node, call, names)
    return refused


@dataclass(slots=True)
class Room:
    """The partitions that one request may still create."""

    partitions: int


def _missing(
    node: Node, call: Call[MetadataRequest], item: MetadataRequestTopic, refused: dict[str, ErrorCode]
) -> str | None:
    """Return the name of a topic that is to be created, unless that is refused."""
    name = item.name
    if name is None or item.topic_id != ZERO_UUID or name in node.catalogue.by_name:
        return None
    rights = call.rights
    if rights is not None and not (
        rights.may_cluster(Operation.CREATE) or rights.may_topic(Operation.CREATE, name)
    ):
        refused[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
        return None
    return name


def _create_missing(
    node: Node,
    call: Call[MetadataRequest],
    item: MetadataRequestTopic,
    refused: dict[str, ErrorCode],
    room: Room,
) -> None:
    """Create the named topic if it does not exist, or add the refusal to those by name."""
    name = _missing(node, call, item, refused)
    if name is None or room.partitions <= 0:
        return  # it stays unknown, so that the client asks again
    try:
        new = _new_topic(node, name)
        record = node.topics.check_new(new, node.clock.wall_ms(call.received_ms))
        node.topics.create(record, call.received_ms)
        room.partitions -= record.partition_count
    except RequestError as error:
        refused[name] = error.code


def _new_topic(node: Node, name: str) -> NewTopic:
    if name == SHARE_STATE_TOPIC:
        return share_state_topic(node.live_config.layers)
    return _INTERNAL[name](node.config) if name in _INTERNAL else NewTopic(name=name)


def _have_created(
    node: Node, call: Call[Any], names: Sequence[str]
) -> Generator[Until, None, dict[str, ErrorCode]]:
    """Have the controller create topics with its defaults; return the errors of those that it refuses."""
    from protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest

    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=[], configs=[])
            for name in names
        ],
        timeout_ms=WAIT_MS,
    )
    response = yield from ask(node, call, request, ApiKey.CREATE_TOPICS, VERSION)
    if isinstance(response, ErrorCode):
        return {}
    codes = {result.name: ErrorCode(result.error_code) for result in response.topics}
    return {name: code for name, code in codes.items() if code not in PASSING}
