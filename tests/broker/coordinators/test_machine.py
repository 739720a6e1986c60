"""Both coordinators, that of the groups and the tests' own, are machines of a kind."""

from __future__ import annotations

from random import Random

from broker.coordinators.groups import GroupKind
from broker.coordinators.machine import Kind, Machine
from groups.coordinator import Coordinator
from tests.broker.coordinators.toy import Counters, CountersKind
from tests.broker.gateway import Gateway


def test_groups_are_a_machine_of_a_kind() -> None:
    gateway = Gateway()
    kind: Kind[Coordinator] = GroupKind(
        gateway.broker, gateway.broker, Random(1), lambda: gateway.broker.coordinators.shares
    )
    machine: Machine = kind.new_machine(7)
    assert (kind.topic_name, kind.new_topic().partition_count) == ("__consumer_offsets", 50)
    machine.loaded(range(7), gateway.now_ms)
    assert machine.take_effects() == []
    assert list(machine.snapshot(0, 10)) == []


def test_counters_are_a_machine_of_a_kind() -> None:
    kind: Kind[Counters] = CountersKind()
    machine: Machine = kind.new_machine(2)
    machine.replay(ord("a") % 2, b"a", b"5")
    assert list(machine.snapshot(ord("a") % 2, 10)) == [[(b"a", b"5")]]
    assert machine.next_deadline() is None
