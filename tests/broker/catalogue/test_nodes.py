"""Nodes: placement, addresses, and who leads what."""

from __future__ import annotations

import pytest

from broker.catalogue.nodes import Node, Nodes


def test_a_node_alone_leads_everything() -> None:
    nodes = Nodes(7)
    assert nodes.is_controller
    assert nodes.seen_at(("host", 9092)) == [Node(7, "host", 9092)]
    assert list(nodes.led(4)) == [0, 1, 2, 3]
    assert {nodes.leader_of_vnode(vnode) for vnode in range(9)} == {7}


@pytest.mark.parametrize("number", range(3))
def test_workers_agree_on_addresses_and_leaders(number: int) -> None:
    nodes = Nodes(10 + number, number=number, count=3)
    assert nodes.is_controller is (number == 0)
    assert nodes.controller_id == 10
    seen = nodes.seen_at(("host", 9000 + number))
    assert seen == [Node(10, "host", 9000), Node(11, "host", 9001), Node(12, "host", 9002)]
    assert [nodes.leader_of_vnode(vnode) for vnode in range(5)] == [10, 11, 12, 10, 11]


@pytest.mark.parametrize("vnode_count", [1, 2, 3, 7])
def test_each_vnode_is_led_by_exactly_one_worker(vnode_count: int) -> None:
    led = [list(Nodes(number, number=number, count=3).led(vnode_count)) for number in range(3)]
    assert sorted(vnode for vnodes in led for vnode in vnodes) == list(range(vnode_count))


def test_a_node_believes_the_controller_about_the_epochs_of_others_and_itself_about_its_own() -> None:
    nodes = Nodes(11, number=1, count=3)
    assert nodes.epochs == [-1, -1, -1]
    assert nodes.note_epoch(11, 7)
    assert not nodes.note_epoch(11, 7)
    nodes.note_epochs([5, 6, -1])
    assert nodes.epochs == [5, 7, -1]
    assert [nodes.epoch_of(node_id) for node_id in nodes.ids] == nodes.epochs
