"""Nodes: placement, addresses, and who leads what."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from broker.catalogue.members import Member, Members
from broker.catalogue.nodes import Node, Nodes


class Client(NamedTuple):
    """A connection, as far as nodes need it."""

    advertised: tuple[str, int]
    listener: str = "PLAINTEXT"


def test_a_node_alone_leads_everything() -> None:
    nodes = Nodes(7)
    assert nodes.is_controller
    assert nodes.seen_at(Client(("host", 9092))) == [Node(7, "host", 9092)]
    assert list(nodes.led(4)) == [0, 1, 2, 3]
    assert {nodes.leader_of_vnode(vnode) for vnode in range(9)} == {7}


@pytest.mark.parametrize("number", range(3))
def test_workers_agree_on_addresses_and_leaders(number: int) -> None:
    nodes = Nodes(10 + number, number=number, count=3)
    assert nodes.is_controller is (number == 0)
    assert nodes.controller_id == 10
    seen = nodes.seen_at(Client(("host", 9000 + number)))
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


def test_nodes_of_several_machines_are_seen_where_their_listener_of_the_clients_name_is() -> None:
    members = Members(1, 3, {"IN": ("b.lan", 1), "OUT": ("b.example", 2)})
    members.note_all([Member(True, (("IN", "a.lan", 1), ("OUT", "a.example", 2))), Member(), Member()])
    nodes = Nodes(11, number=1, count=3, members=members)
    # A client knows this node by the address that it came to.
    assert nodes.seen_at(Client(("b.alias", 2), "OUT")) == [Node(10, "a.example", 2), Node(11, "b.alias", 2)]
    assert nodes.seen_at(Client(("b.lan", 1), "IN")) == [Node(10, "a.lan", 1), Node(11, "b.lan", 1)]
    assert nodes.seen_at(Client(("b.lan", 9), "OTHER")) == [Node(11, "b.lan", 9)]
    assert [nodes.is_there(node_id) for node_id in nodes.ids] == [True, True, False]


def test_a_node_with_its_own_directory_keeps_the_vnodes_that_it_leads_and_workers_all() -> None:
    own = Nodes(11, number=1, count=3, members=Members(1, 3, {}))
    assert (own.has_own_directory, own.makes_directories, list(own.kept(5))) == (True, True, [1, 4])
    worker = Nodes(11, number=1, count=3)
    assert (worker.has_own_directory, worker.makes_directories, list(worker.kept(2))) == (
        False,
        False,
        [0, 1],
    )
    alone = Nodes(10)
    assert (alone.has_own_directory, alone.makes_directories, list(alone.kept(2))) == (True, False, [0, 1])
