"""The knowledge of nodes of several machines about each other, as KawalFollow carries it."""

from __future__ import annotations

from collections.abc import Iterable

from broker.catalogue.members import Member
from broker.catalogue.nodes import Nodes
from protocol.messages.kawal_follow import MemberAddress, MemberState


def states_of(nodes: Nodes) -> list[MemberState]:
    """Return what this node knows of all; workers know nothing of this kind."""
    if nodes.members is None:
        return []
    return [
        MemberState(
            is_there=member.is_there,
            addresses=[
                MemberAddress(listener=listener, host=host, port=port)
                for listener, host, port in member.addresses
            ],
        )
        for member in nodes.members.known
    ]


def members_in(states: Iterable[MemberState]) -> list[Member]:
    """Return what another node knows."""
    return [
        Member(state.is_there, tuple((each.listener, each.host, each.port) for each in state.addresses))
        for state in states
    ]


def note_states(nodes: Nodes, states: list[MemberState]) -> None:
    """Learn from the controller; a list of another length is that of a controller with other settings."""
    if nodes.members is not None and len(states) == nodes.count:
        nodes.members.note_all(members_in(states))
