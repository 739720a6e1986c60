"""AlterConfigs: v0-2.

Behaviour: a resource then has exactly the settings of the request; settings that it does not name are unset.
Each resource is changed whole or not at all, and the answer leaves when the changes are durable.
Differences from Apache Kafka: a resource named twice answers INVALID_REQUEST (Kafka never answers); otherwise
those of IncrementalAlterConfigs.
Version notes: v2 flexible.  Loggers cannot be altered by this API.  Source: KIP-133; KIP-339 supersedes it.
"""

from __future__ import annotations

# What the first error that suggests a name needs, which took 5 ms of the loop.
import difflib as difflib
from collections.abc import Generator
from typing import TYPE_CHECKING

from broker.catalogue.config_resources import find_resource
from broker.catalogue.listener_stores import StoreChange
from broker.config.config_changes import LINES_AT_ONCE, Alteration, Operation, check_lines, decisive
from broker.config.kafka_keys import KAFKA_KEYS as KAFKA_KEYS  # needed for defaults
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import Until, WaitingSteps, begun, in_thread, tallied
from broker.view_topics.view_loading import load_in_thread, makes_quarantine
from protocol.error_codes import ErrorCode
from protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from broker.core import Broker


def handle(broker: Broker, call: Call[AlterConfigsRequest]) -> AlterConfigsResponse | Parked | WaitingSteps:
    """Replace the settings of every resource that is named once."""
    answer: AlterConfigsResponse | Parked | WaitingSteps = begun(_replace_all(broker, call))
    return answer


def _replace_all(broker: Broker, call: Call[AlterConfigsRequest]) -> WaitingSteps:
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
            if (yield from _replace(broker, call, item)):
                pending.made(answer)
        except RequestError as error:
            answer.error_code, answer.error_message = error.code, error.message
        answers.append(answer)
        yield None
    return pending.answer(AlterConfigsResponse(responses=answers))


def _replace(
    broker: Broker, call: Call[AlterConfigsRequest], item: AlterConfigsResource
) -> Generator[Until, None, bool]:
    """Return whether a record was written to the catalogue."""
    lines, offload, forwarded = item.configs, broker.scheduler.offload, call.connection.forwarded
    if len(lines) <= LINES_AT_ONCE:
        check_lines([(line.name, line.value) for line in lines])
        wanted = {line.name: line.value or "" for line in lines}
    else:
        yield from in_thread(offload, lambda: check_lines([(line.name, line.value) for line in lines]))
        resource = find_resource(broker, item.resource_type, item.resource_name, forwarded=forwarded)
        every = (Alteration(line.name, Operation.SET, line.value) for line in lines)
        found = yield from in_thread(offload, lambda: decisive(resource.key, (), every))
        wanted = {line.name: line.value or "" for line in found}
    stores = StoreChange(broker.live_config, offload, wanted)
    resource, settings = yield from stores.checked(
        lambda: find_resource(broker, item.resource_type, item.resource_name, forwarded=forwarded),
        lambda found: found.checked(wanted),
    )
    if call.request.validate_only:
        return False
    stores.expect()
    for record in resource.records(settings, broker.clock.wall_ms(call.received_ms)):
        broker.metadata_log.append(record, call.received_ms)
    return True
