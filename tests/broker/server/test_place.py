"""The place of a worker: the ways to the others, and what cannot be had with several."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from broker.config.config import config_of
from broker.server.place import Place, address_of, pages_name, requests_name
from tests.broker.gateway import Gateway


def place(number: int = 0, count: int = 3) -> Place:
    sock: Any = None
    return Place(number, count, [], sock, sock, 9, None, lambda: None, False)


def workers() -> Any:
    class Workers:
        def submit_peer(self, node_id: int, work: Any, done: Any) -> None:
            raise AssertionError("nothing is asked")

    return Workers()


def test_the_first_worker_is_the_controller_and_follows_nothing() -> None:
    nodes, catalogue = place().join(config_of({"node.id": "5"}), workers(), [])
    assert (nodes.own_id, nodes.number, nodes.count, nodes.controller_id) == (5, 0, 3, 5)
    assert catalogue is None


def test_the_first_worker_has_the_file_that_the_settings_name_and_others_their_own() -> None:
    assert [place(number).own_path("/a/audit.log") for number in (0, 2)] == [
        "/a/audit.log",
        "/a/audit.log.worker-2",
    ]


def test_addresses_are_short_however_long_the_directorys_path_is() -> None:
    assert address_of(9, requests_name(2)) == "/proc/self/fd/9/worker-2.sock"
    assert address_of(9, pages_name(2)) == "/proc/self/fd/9/worker-2.http.sock"


@pytest.mark.parametrize(("vnodes", "number", "warned"), [(2, 0, True), (2, 1, False), (3, 0, False)])
def test_workers_without_logs_are_warned_of_once(
    vnodes: int, number: int, warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Gateway(kawal_vnodes=vnodes).broker
    with caplog.at_level(logging.WARNING):
        place(number).warn(broker)
    assert ("1 workers lead no partition" in caplog.text) is warned
