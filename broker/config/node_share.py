"""The configuration of one node of several machines, of that which all of them may share: its id."""

from __future__ import annotations

from dataclasses import replace

from broker.config.config import Config


def of_node(config: Config) -> Config:
    """Return the configuration of this node; without a list of nodes, the same.

    Nothing is divided, as among workers: each machine has its own memory and ports.
    """
    if not config.kawal_cluster_nodes:
        return config
    assert config.kawal_cluster_node is not None, "a configuration was checked"
    return replace(config, node_id=config.node_id + config.kawal_cluster_node)
