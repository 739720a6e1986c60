"""IncrementalAlterConfigs: v0-1.

Behaviour: each resource takes all of its changes or none.  They take effect at once, for every connection,
and the answer leaves when they are durable.  Settings of topics, this node (its id), every node (the empty
name) and groups are stored; levels of this node's loggers last until the server stops, as in Kafka.
`validate_only` makes the same checks and changes nothing.
Differences from Apache Kafka: an unknown operation answers INVALID_REQUEST for every resource (Kafka: -1 for
topics); an unknown broker configuration answers INVALID_CONFIG with the nearest known name (Kafka accepts
it), and so does one that would protect a Kafka broker and nothing here; keys and certificates of a listener
are refused if they do not match (Kafka breaks the listener) or if there is no such listener (Kafka stores
them); APPEND and SUBTRACT start from the value in effect, not from the built-in default; client metrics are
not collected (42).
Version notes: v1 flexible.  Source: KIP-339, KIP-412 (loggers), KIP-848 (groups).
"""

from __future__ import annotations

# What the first error that suggests a name needs, which took 5 ms of the loop.
import difflib as difflib
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING

from broker.catalogue.config_resources import ResourceType, find_resource, node_id_of
from broker.catalogue.listener_stores import StoreChange
from broker.config.config_changes import (
    LINES_AT_ONCE,
    Alteration,
    Operation,
    altered,
    check_alterations,
    decisive,
)
from broker.config.kafka_keys import KAFKA_KEYS as KAFKA_KEYS  # needed for defaults
from broker.config.loggers import check_change
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Until, WaitingSteps, begun, in_thread, tallied
from broker.view_topics.view_loading import load_in_thread, makes_quarantine
from protocol.error_codes import ErrorCode
from protocol.messages.incremental_alter_configs import (
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from broker.config.config_keys import Key
    from broker.core import Broker


def handle(
    broker: Broker, call: Call[IncrementalAlterConfigsRequest]
) -> IncrementalAlterConfigsResponse | Parked | WaitingSteps:
    """Alter every resource that is named once."""
    answer: IncrementalAlterConfigsResponse | Parked | WaitingSteps = begun(_alter_all(broker, call))
    return answer


def _alter_all(broker: Broker, call: Call[IncrementalAlterConfigsRequest]) -> WaitingSteps:
    request = call.request
    if (yield from makes_quarantine(request.resources)):
        yield from load_in_thread(broker.scheduler)
    times = yield from tallied((item.resource_type, item.resource_name) for item in request.resources)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)

    answers = []
    for item in request.resources:
        answer = AlterConfigsResourceResponse(
            resource_type=item.resource_type, resource_name=item.resource_name
        )
        try:
            if times[item.resource_type, item.resource_name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if (yield from _alter(broker, call, item)):
                pending.made(answer)
        except RequestError as error:
            answer.error_code, answer.error_message = error.code, error.message
        answers.append(answer)
        yield None
    return pending.answer(IncrementalAlterConfigsResponse(responses=answers))


def _alter(
    broker: Broker, call: Call[IncrementalAlterConfigsRequest], item: AlterConfigsResource
) -> Generator[Until, None, bool]:
    """Return whether a record was written to the catalogue."""
    offload, at_once = broker.scheduler.offload, len(item.configs) <= LINES_AT_ONCE
    forwarded = call.connection.forwarded
    alterations = (
        _alterations(item) if at_once else (yield from in_thread(offload, lambda: _alterations(item)))
    )
    if item.resource_type == ResourceType.BROKER_LOGGER:
        _alter_loggers(broker, item.resource_name, alterations, validate_only=call.request.validate_only)
        return False
    if not at_once:
        every = alterations
        resource = find_resource(broker, item.resource_type, item.resource_name, forwarded=forwarded)
        own = frozenset(resource.own)
        alterations = yield from in_thread(offload, lambda: _decisive(resource.key, own, every))
    stores = StoreChange(broker.live_config, offload, [line.name for line in alterations])
    resource, settings = yield from stores.checked(
        lambda: find_resource(broker, item.resource_type, item.resource_name, forwarded=forwarded),
        lambda found: found.checked(altered(found, alterations)),
    )
    if call.request.validate_only:
        return False
    stores.expect()
    for record in resource.records(settings, broker.clock.wall_ms(call.received_ms)):
        broker.metadata_log.append(record, call.received_ms)
    return True


def _decisive(
    key: Callable[[str], Key | None], own: frozenset[str], every: list[Alteration]
) -> list[Alteration]:
    """Return the lines that decide, and free the others: 50,000 take 5 ms."""
    found = decisive(key, own, every)
    every.clear()
    return found


def _alterations(item: AlterConfigsResource) -> list[Alteration]:
    found = [Alteration(line.name, line.config_operation, line.value) for line in item.configs]
    try:
        check_alterations(found)
    except RequestError:
        found.clear()  # the error's traceback has them
        raise
    return found


def _alter_loggers(broker: Broker, name: str, alterations: list[Alteration], *, validate_only: bool) -> None:
    node_id = broker.config.node_id
    if node_id_of(name) != node_id:
        raise RequestError(
            ErrorCode.INVALID_REQUEST, f"Unexpected node id. Expected {node_id}, but received {name}"
        )
    for line in alterations:
        if line.operation in (Operation.APPEND, Operation.SUBTRACT):
            operation = Operation(line.operation).name
            raise RequestError(
                ErrorCode.INVALID_REQUEST,
                f"{operation} operation is not allowed for the BROKER_LOGGER resource",
            )
        check_change(broker.loggers, line.name, _level(line))
    if not validate_only:
        for line in alterations:
            broker.loggers.set_level(line.name, _level(line))
        broker.request_log.refresh()


def _level(line: Alteration) -> str | None:
    return None if line.operation == Operation.DELETE else line.value
