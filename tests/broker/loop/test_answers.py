"""An answer waits for the disk and reports changes that were lost."""

from __future__ import annotations

import errno
from typing import Any

import pytest

from broker.loop.answers import ANSWERS_SHARE_NS, reply_in_turn
from broker.loop.slices import Steps
from protocol.messages.alter_configs import AlterConfigsRequest, AlterConfigsResource
from tests.broker.gateway import Gateway
from wal.memory_faults import failing


@pytest.mark.parametrize(("broken", "code"), [(False, 0), (True, 56)])
def test_nothing_is_answered_before_the_change_is_durable(broken: bool, code: int) -> None:
    gateway = Gateway()
    client = gateway.client()
    if broken:
        gateway.disk.faults.append(failing("sync", errno.EIO))
    group = AlterConfigsResource(resource_type=32, resource_name="g", configs=[])
    client.send(AlterConfigsRequest(resources=[group], validate_only=False), 2)
    assert client.answers() == []
    gateway.settle()
    assert [response.error_code for response in client.answers()[0].responses] == [code]


def test_answers_that_come_up_late_in_a_turn_are_given_in_the_next() -> None:
    gateway = Gateway()
    broker, answered = gateway.broker, list[object]()
    now_ns = 0
    broker.stats.clock_ns = lambda: now_ns
    replies = [reply_in_turn(broker, noting(answered)) for _ in range(6)]
    for reply in replies:
        reply("answer")
        now_ns += ANSWERS_SHARE_NS // 2
    assert len(answered) == 2
    for _ in range(4):
        broker.scheduler.run()
    assert answered == ["answer"] * 6


def test_a_late_answer_does_not_wait_for_long_work_of_others() -> None:
    gateway = Gateway()
    broker, order = gateway.broker, list[object]()
    now_ns = 0
    broker.stats.clock_ns = lambda: now_ns

    def long_work() -> Steps:
        for _ in range(3):
            order.append("long")
            yield

    for _ in range(80):
        broker.scheduler.add_work(long_work())
    now_ns += ANSWERS_SHARE_NS
    reply_in_turn(broker, noting(order))("answer")
    broker.scheduler.run()
    assert order == ["answer"]


def test_a_call_that_is_being_handled_is_answered_however_old_the_turn_is() -> None:
    gateway = Gateway()
    broker, answered = gateway.broker, list[object]()
    now_ns = 0
    broker.stats.clock_ns = lambda: now_ns
    call = noting(answered)
    now_ns += 2 * ANSWERS_SHARE_NS
    broker.stats.turns.task = call
    reply_in_turn(broker, call)("answer")
    assert answered == ["answer"]


def noting(answered: list[object]) -> Any:
    class Noting:
        reply = staticmethod(answered.append)

    return Noting()
