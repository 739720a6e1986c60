"""The configuration of one node of several machines."""

from __future__ import annotations

from broker.config.config import config_of
from broker.config.node_share import of_node
from tests.broker.config.test_node_keys import node


def test_a_nodes_id_is_the_first_ones_plus_its_number() -> None:
    config = node(node_id="7")
    assert of_node(config).node_id == 9
    assert of_node(config).max_connections == config.max_connections


def test_a_server_that_is_alone_keeps_its_id() -> None:
    assert of_node(config_of({"node.id": "7"})).node_id == 7
