"""LeaveGroup: v0-5.

Behaviour: removes one member (v0-2) or several (v3+).
Differences from Apache Kafka: of more than 100 members, 100 leave at a time.  Others are those of the
coordinator, in groups/coordinator.py and docs/groups.md.
Version notes: v3 many members (KIP-345); v4 flexible; v5 reason (KIP-800).
"""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Final

from broker.coordinators.groups import client_of
from broker.loop.answers import Awaited
from broker.loop.call import PARKED, Call, Parked
from broker.loop.slices import Until, WaitingSteps, chunks
from protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberResponse

if TYPE_CHECKING:
    from broker.core import Broker

MEMBERS_AT_ONCE: Final = 100
"""The members that leave in one go, and with one rebalance: about 1 ms."""


def handle(broker: Broker, call: Call[LeaveGroupRequest]) -> Parked | WaitingSteps:
    """Pass the request to the group coordinator."""
    if len(call.request.members) > MEMBERS_AT_ONCE:
        return _in_parts(broker, call)
    with broker.groups.step(call.received_ms) as coordinator:
        coordinator.leave_group(call.request, client_of(call), call.reply, call.received_ms)
    return PARKED


def _in_parts(broker: Broker, call: Call[LeaveGroupRequest]) -> WaitingSteps:
    """Let some members leave in each step, as if they came in several requests."""
    answers = Awaited()
    results: list[list[MemberResponse]] = []
    errors: list[int] = []

    def take(found: list[MemberResponse], response: LeaveGroupResponse) -> None:
        found += response.members
        if response.error_code:
            errors.append(response.error_code)

    for members in chunks(call.request.members, per_step=MEMBERS_AT_ONCE):
        found: list[MemberResponse] = []
        results.append(found)
        part = LeaveGroupRequest(group_id=call.request.group_id, members=list(members))
        now_ms = broker.clock.turn_ms
        with broker.groups.step(now_ms) as coordinator:
            answered = answers.expect(partial(take, found))
            coordinator.leave_group(part, client_of(call), answered, now_ms)
        if errors:
            break
        yield None
    yield Until(answers.when_complete)
    if errors:
        return LeaveGroupResponse(error_code=errors[0], members=[])
    return LeaveGroupResponse(members=list(chain.from_iterable(results)))
