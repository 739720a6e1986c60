"""States of members go over the wire as they are."""

from __future__ import annotations

from broker.catalogue.members import Member, Members
from broker.catalogue.nodes import Nodes
from broker.upkeep.member_states import members_in, note_states, states_of


def test_what_a_node_knows_arrives_as_it_is() -> None:
    members = Members(0, 2, {"IN": ("a.lan", 1), "OUT": ("a.example", 2)})
    nodes = Nodes(0, count=2, members=members)
    assert members_in(states_of(nodes)) == members.known


def test_workers_tell_nothing_of_this_kind() -> None:
    assert states_of(Nodes(0, count=2)) == []
    note_states(Nodes(0, count=2), states_of(Nodes(0, count=2, members=Members(0, 2, {}))))


def test_what_a_controller_with_another_number_of_nodes_says_is_passed_over() -> None:
    nodes = Nodes(1, number=1, count=2, members=Members(1, 2, {}))
    other = Nodes(0, count=3, members=Members(0, 3, {"IN": ("a", 1)}))
    note_states(nodes, states_of(other))
    assert nodes.members is not None
    assert nodes.members.known == [Member(), Member(True, ())]
