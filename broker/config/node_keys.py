"""The keys of a cluster whose nodes run on several machines, and what must be so with several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from broker.config.config_keys import ConfigError, ConfigType, Key
from broker.config.endpoints import Endpoint, parse_endpoint
from broker.config.listener_specs import WILDCARDS, ListenerSpec

NODES_MAX: Final = 64
"""The most nodes, as of workers: each knows and asks all others."""

NODES: Final = "kawal.cluster.nodes"
NODE: Final = "kawal.cluster.node"
SECRET_FILE: Final = "kawal.cluster.secret.file"  # noqa: S105  (the name of a key)
INTER_BROKER: Final = "inter.broker.listener.name"


class Values(Protocol):
    """The configuration, as far as nodes need it."""

    @property
    def kawal_cluster_nodes(self) -> tuple[str, ...]:
        """The addresses of all nodes."""

    @property
    def kawal_cluster_node(self) -> int | None:
        """The number of this one."""

    @property
    def kawal_cluster_secret_file(self) -> str | None:
        """The path of the secret."""

    @property
    def kawal_workers(self) -> int:
        """The number of processes of one directory."""

    @property
    def inter_broker_listener_name(self) -> str | None:
        """The listener of the other nodes."""

    @property
    def specs(self) -> tuple[ListenerSpec, ...]:
        """The listeners."""


def addresses_of(texts: Sequence[str]) -> tuple[Endpoint, ...]:
    """Return the addresses of the nodes, by number.  Raises: ValueError, with one sentence."""
    found = tuple(map(parse_endpoint, texts))
    for text, endpoint in zip(texts, found, strict=True):
        if endpoint.host in WILDCARDS or not endpoint.port:
            raise ValueError(f"{text!r} is no address that another node could connect to")
        if found.count(endpoint) > 1:
            raise ValueError(f"{text!r} is given twice: each node has an address of its own")
    if len(found) == 1:
        raise ValueError("one node alone needs no list; leave it out, or name two nodes or more")
    if len(found) > NODES_MAX:
        raise ValueError(f"there are {len(found)} nodes; {NODES_MAX} are the most")
    return found


def nodes_problem(texts: object) -> str | None:
    """Return what is wrong with the list of nodes, or None."""
    assert isinstance(texts, tuple)
    try:
        addresses_of(texts)
    except ValueError as error:
        return str(error)
    return None


def inter_broker_spec(config: Values) -> ListenerSpec:
    """Return the listener that other nodes come to.  Raises: ConfigError."""
    name = config.inter_broker_listener_name
    if name is None:
        return config.specs[0]
    for spec in config.specs:
        if spec.name == name.upper():
            return spec
    known = ", ".join(spec.name for spec in config.specs)
    raise ConfigError(INTER_BROKER, name, f"there is no such listener; there are {known}")


def check_nodes(config: Values) -> None:
    """Check what concerns several keys of a cluster of nodes.  Raises: ConfigError."""
    count, number = len(config.kawal_cluster_nodes), config.kawal_cluster_node
    if not count:
        for name, value in ((NODE, number), (SECRET_FILE, config.kawal_cluster_secret_file)):
            if value is not None:
                raise ConfigError(name, value, f"it has no meaning without {NODES}, the list of all nodes")
        return
    if config.kawal_workers > 1:
        why = f"a node of {NODES} is one process; run more nodes, two on a machine if need be"
        raise ConfigError("kawal.workers", config.kawal_workers, why)
    if number is None:
        raise ConfigError(
            NODE, None, f"is not set: which of the {count} nodes is this (--node 0 to {count - 1})"
        )
    if number >= count:
        why = f"{NODES} has {count} nodes, whose numbers are 0 to {count - 1}"
        raise ConfigError(NODE, number, why)
    if config.kawal_cluster_secret_file is None:
        why = f"is not set, and {NODES} needs it: a file with the secret that all nodes have"
        raise ConfigError(SECRET_FILE, None, why)
    inter_broker_spec(config)


NODE_KEYS: Final = (
    Key(
        NODES,
        ConfigType.LIST,
        (),
        "Nodes of the cluster, the same list on all of them: HOST:PORT where the others reach the listener "
        f"`{INTER_BROKER}` of node 0, of node 1 and so on.  Their number may not change.  Empty: this server "
        "is alone.",
        check=nodes_problem,
    ),
    Key(
        NODE,
        ConfigType.INT,
        None,
        "Number of this node in the list, from 0 on; its node id is `node.id` plus this.",
        minimum=0,
        maximum=NODES_MAX - 1,
    ),
    Key(
        SECRET_FILE,
        ConfigType.STRING,
        None,
        "File with the secret, of 16 bytes or more, by which nodes know each other: the same on all of "
        "them.  Only the server's user may be able to read it.",
    ),
    Key(
        INTER_BROKER,
        ConfigType.STRING,
        None,
        "Listener to which the other nodes come, with its TLS; not set: the first one.",
    ),
)
