"""The places of nodes in a store."""

from __future__ import annotations

from wal.remote.places import ALL, Share, node_folder, workers_text


def test_the_first_node_has_the_root_as_a_server_that_is_alone_and_others_a_folder_each() -> None:
    assert [node_folder(number) for number in range(3)] == ["", "node-1", "node-2"]


def test_a_share_of_all_logs_is_that_of_one_worker() -> None:
    assert Share(0, 1) == ALL
    assert [workers_text(count) for count in (1, 2)] == ["1 worker", "2 workers"]
