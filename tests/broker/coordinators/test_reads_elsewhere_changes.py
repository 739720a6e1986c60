"""A leader notes what has changed of a client, here or at other nodes, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from broker.coordinators.client_places import ClientPlaces
from broker.coordinators.reads_elsewhere import ClusterReads
from tests.broker.coordinators.reading_nodes import ALL, MIXED, Reading


@pytest.fixture
def nodes() -> Reading:
    """Return two nodes, and a group that leaves out what was restored."""
    nodes = Reading()
    nodes.configure(consume_excluded="true")
    return nodes


def test_settings_that_a_group_gets_later_apply_at_once_on_old_connections(nodes: Reading) -> None:
    names = (f"h{number}" for number in range(99))
    plain = next(name for name in names if nodes.coordinator_of(name) == nodes.coordinator)
    nodes.join("o", group=plain)
    reader = nodes.reader()
    assert nodes.seen(reader) == ALL
    nodes.configure(plain, consume_excluded="true")
    assert nodes.seen(reader) == MIXED


def test_what_nodes_have_told_is_noted_once_and_what_changes_here_for_itself(
    nodes: Reading, monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes.join()
    names = (f"h{number}" for number in range(99))
    here = next(name for name in names if nodes.coordinator_of(name) == nodes.leader)
    nodes.configure(here, consume_excluded="true")
    noted: list[tuple[str, object]] = []
    plain = ClientPlaces.note

    def note(self: ClientPlaces, group_id: str, settings: Any, member: object, *rest: Any) -> Any:
        noted.append((group_id, member))
        return plain(self, group_id, settings, member, *rest)

    monkeypatch.setattr(ClientPlaces, "note", note)
    reader = nodes.reader()
    assert nodes.seen(reader) == MIXED
    assert {group_id for group_id, _ in noted} == {"g"}
    noted.clear()
    assert nodes.seen(reader) == MIXED
    assert noted == []
    nodes.join("o", group=here)
    assert nodes.seen(reader) == MIXED
    assert noted == [(here, "o")]


def test_the_coordinators_of_groups_with_settings_are_those_of_now() -> None:
    nodes = Reading(3)
    reads = nodes[nodes.leader].broker.member_reads
    assert isinstance(reads, ClusterReads)

    def deciding() -> set[int]:
        return {number for number in range(3) if reads._decides(number)}

    assert deciding() == set()
    nodes.configure(consume_excluded="true")
    assert deciding() == {nodes.coordinator}
    others = [f"h{number}" for number in range(9)]
    for group in others:
        nodes.configure(group, min_poll_rows="2")
    assert deciding() == {nodes.coordinator_of(group) for group in ("g", *others)}
    for group in others:
        nodes.configure(group, min_poll_rows="0")
    assert deciding() == {nodes.coordinator}
