"""The places of nodes in a store."""

from __future__ import annotations

from wal.remote.places import node_folder


def test_the_first_node_has_the_root_as_a_server_that_is_alone_and_others_a_folder_each() -> None:
    assert [node_folder(number) for number in range(3)] == ["", "node-1", "node-2"]
