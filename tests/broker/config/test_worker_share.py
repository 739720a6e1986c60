"""A worker has its own id and ports, and its share of what limits the server as a whole."""

from __future__ import annotations

import pytest

from broker.config.config import Config, config_of
from broker.config.quota_keys import INT_MAX
from broker.config.worker_share import DIVIDED, of_worker, share_of

MIB = 1 << 20


def test_ids_and_ports_follow_those_of_the_first_worker() -> None:
    config = config_of({
        "node.id": "7",
        "listeners": "A://127.0.0.1:9092,B://[::1]:9192",
        "advertised.listeners": "A://gateway:19092,B://gateway:19192",
        "listener.security.protocol.map": "A:PLAINTEXT,B:PLAINTEXT",
    })  # fmt: skip
    assert of_worker(config, 0, 3).specs == config.specs
    third = of_worker(config, 2, 3)
    assert third.node_id == 9
    assert [spec.text for spec in third.specs] == ["A://127.0.0.1:9094", "B://[::1]:9194"]
    assert [spec.advertised.port for spec in third.specs if spec.advertised] == [19094, 19194]


def test_a_port_that_is_still_to_be_chosen_stays_so() -> None:
    assert of_worker(config_of({"listeners": "127.0.0.1:0"}), 1, 2).listeners == ("127.0.0.1:0",)


def test_limits_of_the_server_are_divided_and_those_of_a_connection_are_not() -> None:
    config = config_of({"kawal.tail.cache.bytes": 64 * MIB, "max.connections": "100"})
    share = of_worker(config, 1, 4)
    assert share.kawal_tail_cache_bytes == 16 * MIB
    assert share.max_connections == 25
    assert share.kawal_connection_in_flight_bytes == config.kawal_connection_in_flight_bytes


def test_every_divided_limit_is_still_one_that_its_key_accepts() -> None:
    share = of_worker(Config(), 63, 64)
    again = config_of({name: share.value(name) for name in DIVIDED})
    assert [again.value(name) for name in DIVIDED] == [share.value(name) for name in DIVIDED]


@pytest.mark.parametrize(
    ("limit", "share"),
    [(-1, -1), (INT_MAX, INT_MAX), (2**63 - 1, 2**63 - 1), (0, 0), (1, 1), (9, 3), (10, 4)],
)
def test_no_limit_stays_none_and_no_share_of_one_is_nothing(limit: int, share: int) -> None:
    assert share_of(limit, 3) == share


def test_limits_of_single_addresses_and_listeners_are_divided() -> None:
    config = config_of({
        "max.connections.per.ip.overrides": "10.0.0.1:200,[::1]:5",
        "listeners": "A://127.0.0.1:9092",
        "listener.security.protocol.map": "A:PLAINTEXT",
        "listener.name.a.max.connections": "9",
    })  # fmt: skip
    share = of_worker(config, 0, 2)
    assert share.max_connections_per_ip_overrides == "10.0.0.1:100,::1:3"
    assert share.listener_overrides == {"listener.name.a.max.connections": 5}


def test_memory_and_rates_of_an_object_store_are_divided() -> None:
    config = config_of({
        "kawal.remote.cache.bytes": 96 * MIB,
        "remote.log.manager.copy.max.bytes.per.second": 9,
        "remote.log.manager.fetch.max.bytes.per.second": 8,
    })  # fmt: skip
    share = of_worker(config, 1, 4)
    assert share.kawal_remote_cache_bytes == 24 * MIB
    assert share.remote_log_manager_copy_max_bytes_per_second == 3
    assert share.remote_log_manager_fetch_max_bytes_per_second == 2
    assert of_worker(Config(), 1, 8).kawal_remote_cache_bytes == 16 * MIB, "what a reader needs"
