"""AlterConfigs: v0-2.

Behaviour: a resource then has exactly the settings of the request; settings that it does not name are unset.
Each resource is changed whole or not at all, and the answer leaves when the changes are durable.
Differences from Apache Kafka: a resource named twice answers INVALID_REQUEST (Kafka never answers); otherwise
those of IncrementalAlterConfigs.
Version notes: v2 flexible.  Loggers cannot be altered by this API.  Source: KIP-133; KIP-339 supersedes it.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from broker.catalogue.config_resources import find_resource
from broker.config.config_changes import check_lines
from broker.errors import RequestError
from broker.loop.answers import PendingChanges
from broker.loop.call import Call, Parked
from broker.loop.slices import WaitingSteps, in_slices, made_of
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


RESOURCES_PER_SLICE = 10
"""The number of resources changed without a pause."""


def handle(broker: Broker, call: Call[AlterConfigsRequest]) -> AlterConfigsResponse | Parked | WaitingSteps:
    """Replace the settings of every resource that is named once."""
    resources = call.request.resources
    answer: AlterConfigsResponse | Parked | WaitingSteps = in_slices(
        _replace_all(broker, call), len(resources), per_slice=RESOURCES_PER_SLICE
    )
    return answer


def _replace_all(broker: Broker, call: Call[AlterConfigsRequest]) -> WaitingSteps:
    request = call.request
    if makes_quarantine(request.resources):
        yield from load_in_thread(broker.scheduler)
    times = Counter((item.resource_type, item.resource_name) for item in request.resources)
    pending = PendingChanges(broker.metadata_log, call, broker.scheduler.offload)

    def answer(item: AlterConfigsResource) -> AlterConfigsResourceResponse:
        answer = AlterConfigsResourceResponse(
            resource_type=item.resource_type, resource_name=item.resource_name
        )
        try:
            if times[item.resource_type, item.resource_name] > 1:
                raise RequestError(ErrorCode.INVALID_REQUEST, "Each resource must appear at most once.")
            if _replace(broker, call, item):
                pending.made(answer)
        except RequestError as error:
            answer.error_code, answer.error_message = error.code, error.message
        return answer

    answers = yield from made_of(request.resources, answer, per_step=1)
    return pending.answer(AlterConfigsResponse(responses=answers))


def _replace(broker: Broker, call: Call[AlterConfigsRequest], item: AlterConfigsResource) -> bool:
    """Return whether a record was written to the catalogue."""
    check_lines([(line.name, line.value) for line in item.configs])
    resource = find_resource(broker, item.resource_type, item.resource_name)
    settings = resource.checked({line.name: line.value or "" for line in item.configs})
    if call.request.validate_only:
        return False
    for record in resource.records(settings, broker.clock.wall_ms(call.received_ms)):
        broker.metadata_log.append(record, call.received_ms)
    return True
