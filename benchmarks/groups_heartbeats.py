"""Many groups whose members do nothing but beat."""

from __future__ import annotations

import selectors
import time
from contextlib import ExitStack

from benchmarks import proc
from benchmarks.groups_clients import ClassicMember, connect, join_classic
from compat_tests.broker import Broker
from compat_tests.topics import create_topic
from protocol.messages.heartbeat import HeartbeatRequest

GROUPS, MEMBERS = 1_000, 10
EVERY_SECONDS = 3.0
MEASURED_SECONDS = 30.0
CPU_LIMIT_PERCENT, MEMORY_LIMIT_MB = 50.0, 300.0

SLICE = 500
"""The number of members that join at once: a server's backlog takes this many connections."""


def measure(broker: Broker, small: bool) -> list[tuple[str, float, float, str]]:
    """Let all members join, then beat."""
    groups = GROUPS // 100 if small else GROUPS
    topic = create_topic(broker, "beaten", MEMBERS)
    with ExitStack() as stack:
        clients = connect(stack, broker, groups * MEMBERS)
        members = [
            ClassicMember(client, f"group-{number // MEMBERS}", topic)
            for number, client in enumerate(clients)
        ]
        join_classic(members)
        pid = broker.process.pid
        before, began = proc.cpu_seconds(pid), time.perf_counter()
        beats = beat(members)
        lasted = time.perf_counter() - began
        percent = (proc.cpu_seconds(pid) - before) / lasted * 100
        resident_mb = proc.memory(pid).resident_bytes / 1e6
    title = f"heartbeat: {groups} groups of {MEMBERS}, {beats / lasted:.0f} beats/s"
    return [
        (f"{title}, CPU of a core", percent, CPU_LIMIT_PERCENT, "%"),
        (f"{title}, memory", resident_mb, MEMORY_LIMIT_MB, "MB"),
    ]


def beat(members: list[ClassicMember]) -> int:
    """Beat with all members in turn, evenly, each every EVERY_SECONDS; return the number of answers."""
    selector = selectors.DefaultSelector()
    for member in members:
        selector.register(member.client.socket, selectors.EVENT_READ, member)
    began = time.perf_counter()
    sent = answered = 0
    pause = EVERY_SECONDS / len(members)
    while (elapsed := time.perf_counter() - began) < MEASURED_SECONDS or answered < sent:
        due = min(int(elapsed / pause), int(MEASURED_SECONDS / pause))
        for number in range(sent, due):
            member = members[number % len(members)]
            member.client.send(
                HeartbeatRequest(
                    group_id=member.group_id, generation_id=member.generation, member_id=member.member_id
                ),
                4,
            )
        sent = due
        for key, _ in selector.select(timeout=0.01):
            answer = key.data.client.receive()
            assert answer.error_code == 0, answer
            answered += 1
    selector.close()
    return answered
