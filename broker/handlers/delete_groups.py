"""DeleteGroups: v0-2.

Behaviour: deletes empty groups and their offsets; answers when that is durable.
Differences from Apache Kafka: the offsets of a group that has more than 200 are deleted 50 at a time: after a
crash, or an error as a member has joined, a part of them may be gone.  Others are those of the
coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v2 flexible.
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

# Imported on the loop, the coordinator would take 100 ms of a turn.
from broker.coordinators.groups import Groups as Groups
from broker.loop.answers import Awaited
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Until, WaitingSteps, chunks
from protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse

if TYPE_CHECKING:
    from broker.core import Broker

GROUPS_PER_STEP: Final = 20
"""The groups that are deleted between two looks at the time: about 1 ms."""


def handle(broker: Broker, call: Call[DeleteGroupsRequest]) -> Parked | WaitingSteps:
    """Pass the request to the group coordinator."""
    if len(call.request.groups_names) > GROUPS_PER_STEP:
        return _in_parts(broker, list(dict.fromkeys(call.request.groups_names)))
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.delete_groups(call.request, call.reply, call.received_ms)
    return PARKED


def _in_parts(broker: Broker, names: list[str]) -> WaitingSteps:
    """Delete a few groups in each step; return the whole answer when all that is durable."""
    answers = Awaited()
    results: list[list[DeletableGroupResult]] = []
    for part in chunks(names, per_step=GROUPS_PER_STEP):
        found: list[DeletableGroupResult] = []
        results.append(found)
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as coordinator:
            take = answers.expect(partial(_take, found))
            coordinator.delete_groups(DeleteGroupsRequest(groups_names=list(part)), take, now_ms)
        yield None
    yield Until(answers.when_complete)
    return DeleteGroupsResponse(results=list(chain.from_iterable(results)))


def _take(found: list[DeletableGroupResult], response: DeleteGroupsResponse) -> None:
    found += response.results
