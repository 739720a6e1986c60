"""The settings of a cluster of nodes: what is wrong with them is said before anything is opened."""

from __future__ import annotations

import pytest

from broker.config.config import Config, config_of
from broker.config.config_keys import ConfigError
from broker.config.node_keys import inter_broker_spec

NODES = "a.example:9092,b.example:9092,c.example:9092"
RIGHT = {
    "kawal.cluster.nodes": NODES,
    "kawal.cluster.node": "2",
    "kawal.cluster.secret.file": "/etc/kawal/secret",
}


def node(**changed: str | None) -> Config:
    settings = RIGHT | {name.replace("_", "."): value for name, value in changed.items()}
    return config_of({name: value for name, value in settings.items() if value is not None})


def test_three_nodes_are_accepted() -> None:
    assert node().kawal_cluster_nodes == tuple(NODES.split(","))


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"kawal_cluster_nodes": "a.example:9092"}, "one node alone needs no list"),
        ({"kawal_cluster_nodes": "a.example:1,a.example:1"}, "'a.example:1' is given twice"),
        ({"kawal_cluster_nodes": "a.example:1,0.0.0.0:2"}, "'0.0.0.0:2' is no address that another node"),
        ({"kawal_cluster_nodes": "a.example:1,b.example:0"}, "'b.example:0' is no address"),
        ({"kawal_cluster_nodes": "a.example:1,b.example"}, "'b.example' is not HOST:PORT"),
        ({"kawal_cluster_nodes": ",".join(f"h{n}:1" for n in range(65))}, "there are 65 nodes; 64 are the"),
        ({"kawal_cluster_node": "3"}, "kawal.cluster.nodes has 3 nodes, whose numbers are 0 to 2"),
        ({"kawal_cluster_node": "-1"}, "must be between 0 and 63"),
        ({"kawal_cluster_node": None}, r"is not set: which of the 3 nodes is this \(--node 0 to 2\)"),
        ({"kawal_cluster_secret_file": None}, "is not set, and kawal.cluster.nodes needs it"),
        ({"kawal_workers": "2"}, "a node of kawal.cluster.nodes is one process"),
        ({"inter_broker_listener_name": "OTHER"}, "there is no such listener; there are PLAINTEXT"),
        ({"kawal_cluster_nodes": None}, "it has no meaning without kawal.cluster.nodes"),
    ],
)
def test_wrong_settings_are_refused_with_a_sentence(changed: dict[str, str | None], sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        node(**changed)


def test_nodes_come_to_the_first_listener_or_to_the_one_that_is_named() -> None:
    listeners = "OUT://127.0.0.1:1,IN://127.0.0.1:2"
    both = {"listeners": listeners, "listener.security.protocol.map": "OUT:PLAINTEXT,IN:PLAINTEXT"}
    assert inter_broker_spec(config_of(both)).name == "OUT"
    assert inter_broker_spec(config_of(both | {"inter.broker.listener.name": "in"})).name == "IN"


def test_a_server_that_is_alone_may_name_a_listener_that_it_does_not_have() -> None:
    assert config_of({"inter.broker.listener.name": "CONTROLLER"}).inter_broker_listener_name == "CONTROLLER"
