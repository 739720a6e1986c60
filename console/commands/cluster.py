"""`kawal cluster`: show the nodes of a Kafka cluster and what they hold, and clients of a Kawal server."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from console.admin import FENCED_VERSION, ask, check, describe_cluster
from console.client import add_bootstrap
from console.connection_rows import connections_text, read_connections
from console.errors import FAILED, OK, CommandError, UsageError
from console.help import Actions, describe
from console.help import dispatch as run
from console.server_flags import add_flags, loaded_config
from console.silence import told_of
from console.tables import table
from protocol.api_keys import ApiKey
from protocol.messages.api_versions import ApiVersionsRequest
from protocol.messages.describe_log_dirs import DescribeLogDirsRequest
from protocol.messages.metadata import MetadataRequest

__all__ = ["configure", "run"]

UNKNOWN = -1
MIB = 1 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the actions."""
    describe(
        parser,
        "Show what a cluster is made of.",
        [
            ("cluster describe", "nodes, topics, sizes and features"),
            ("cluster describe --json", "the same for a program"),
            ("cluster connections", "the clients that are connected"),
            ("cluster copies --config kawal.toml", "the nodes' copies in the object store"),
        ],
    )
    actions = Actions(parser)
    show = actions.add(
        "describe",
        summary="show nodes, topics, sizes and features",
        description="""Show the cluster's id, its nodes and what each holds, those that are away, the number
            of topics and partitions, and the features all nodes have agreed on.""",
        examples=[
            ("cluster describe", "for a person"),
            ("cluster describe --json --bootstrap 10.0.0.5:9092", "for a program, of another cluster"),
        ],
        run=_describe,
    )
    show.add_argument("--json", action="store_true", help="print one JSON object")
    add_bootstrap(show)
    connections = actions.add(
        "connections",
        summary="show the connected clients",
        description="""Show the clients that are connected to a Kawal server: address, client.id, software and
            version as the client names them, since when, how long idle, requests, bytes, the memory that its
            requests and untaken answers occupy, and its requests that wait for data.""",
        examples=[
            ("cluster connections", "for a person"),
            ("cluster connections --json | jq 'sort_by(.memory_bytes)[-5:]'", "the five largest"),
        ],
        run=_connections,
    )
    connections.add_argument("--json", action="store_true", help="print a JSON list with every column")
    add_bootstrap(connections)
    copies = actions.add(
        "copies",
        summary="show the nodes' copies in the object store",
        description="""Show the copy of each node in the object store of kawal.remote.store: its place, its
            epoch, where its server is reached, the age of its last sign of life and of its newest cut, and
            what is newer than that cut.  The store alone is asked, so it tells of servers that do not run,
            too.  It takes the flags of 'kawal serve', and ends with 1 when a copy could not be read.  Ages
            are by the clocks of two machines.  A standby leaves no trace in the store.""",
        examples=[
            ("cluster copies --config kawal.toml", "for a person"),
            ("cluster copies --config kawal.toml --json", "for a program"),
        ],
        run=_copies,
    )
    copies.add_argument("--json", action="store_true", help="print a JSON list")
    add_flags(copies)


def _copies(arguments: argparse.Namespace) -> int:
    # It needs the engine, which the other actions do without.
    from console.doctor.copies import cluster_of
    from console.node_copies import as_tree, look_at, stores_of

    config = _config_of_all(arguments)
    if config.kawal_remote_store is None:
        raise UsageError("there are copies with kawal.remote.store alone: give the servers' --config")
    try:
        stores = stores_of(config)
    except ConfigProblem as problem:
        raise CommandError(str(problem)) from problem
    seen = look_at(
        stores, cluster_of(config.log_dirs), wall_ms=lambda: time.time_ns() // 1_000_000, wait=time.sleep
    )
    trees = [as_tree(each) for each in seen]
    kind = "worker" if config.kawal_workers > 1 else "node"
    print(json.dumps(trees, indent=2) if arguments.json else copies_text(trees, kind))
    return FAILED if any(tree["problem"] for tree in trees) else OK


def _config_of_all(arguments: argparse.Namespace) -> Config:
    """Return the configuration that all nodes share; which of them --node names does not matter here."""
    try:
        return loaded_config(arguments).config
    except CommandError:
        if arguments.node is not None:
            raise
        arguments.node = "0"
        return loaded_config(arguments).config


def copies_text(trees: list[dict[str, Any]], kind: str = "node") -> str:
    """Return the copies of nodes or workers as a table, with a line for each that could not be read."""
    from console.node_copies import seconds_text

    def ago(duration_ms: int | None) -> str | None:
        return None if duration_ms is None else seconds_text(duration_ms)

    rows = [
        (
            tree["node"],
            tree["place"],
            tree["state"],
            tree["epoch"],
            tree["served_at"],
            ago(tree["sign_age_ms"]),
            ago(tree["cut_age_ms"]),
            tree["chunk_bytes"],
        )
        for tree in trees
    ]
    headings = (kind.upper(), "PLACE", "STATE", "EPOCH", "SERVED AT", "LAST SIGN", "CUT", "NEWER BYTES")
    problems = [f"{kind} {tree['node']}: {tree['problem']}" for tree in trees if tree["problem"]]
    return "\n".join([table(headings, rows), *problems])


def _connections(arguments: argparse.Namespace) -> int:
    rows, silent = read_connections(arguments.bootstrap)
    print(json.dumps(rows, indent=2) if arguments.json else connections_text(rows))
    return told_of(silent)


def _describe(arguments: argparse.Namespace) -> int:
    tree = cluster_tree(arguments.bootstrap)
    print(json.dumps(tree, indent=2) if arguments.json else cluster_text(tree))
    return OK


def cluster_tree(bootstrap: str) -> dict[str, Any]:
    """Return everything that is shown of a cluster.  Raises: CommandError."""
    versions = ask(
        bootstrap, ApiVersionsRequest(client_software_name="kawal-cli", client_software_version="1"), 3
    )
    check(versions.error_code, None, bootstrap)
    with_fenced = any(
        api.api_key == ApiKey.DESCRIBE_CLUSTER and api.max_version >= FENCED_VERSION
        for api in versions.api_keys
    )
    cluster = describe_cluster(bootstrap, with_fenced=with_fenced)
    topics = ask(bootstrap, MetadataRequest(topics=None, allow_auto_topic_creation=False), 9).topics
    own = [topic for topic in topics if not topic.is_internal]
    return {
        "id": cluster.cluster_id,
        "controller": cluster.controller_id,
        "nodes": [_node(broker) for broker in cluster.brokers],
        "topics": len(own),
        "partitions": sum(len(topic.partitions) for topic in own),
        "internal_topics": len(topics) - len(own),
        "apis": len(versions.api_keys),
        "features": {feature.name: feature.max_version_level for feature in versions.finalized_features},
    }


def _node(broker: Any) -> dict[str, Any]:
    """Return a node with the sizes of its directories; one that is away is not asked for them."""
    host = f"[{broker.host}]" if ":" in broker.host else broker.host
    address = f"{host}:{broker.port}"
    if broker.is_fenced:
        return {
            "id": broker.broker_id,
            "address": address if broker.port >= 0 else None,
            "rack": broker.rack,
            "state": "away",
            "directories": [],
        }
    answer = ask(address, DescribeLogDirsRequest(topics=None), 4)
    check(answer.error_code, None, address)
    return {
        "id": broker.broker_id,
        "address": address,
        "rack": broker.rack,
        "state": "there",
        "directories": [
            {
                "path": place.log_dir,
                "error": place.error_code,
                "partitions": sum(len(topic.partitions) for topic in place.topics),
                "size_bytes": sum(part.partition_size for topic in place.topics for part in topic.partitions),
                "disk_bytes": None if place.total_bytes == UNKNOWN else place.total_bytes,
                "free_bytes": None if place.usable_bytes == UNKNOWN else place.usable_bytes,
            }
            for place in answer.results
        ],
    }


def cluster_text(tree: dict[str, Any]) -> str:
    """Return the tree as tables."""
    nodes = tree["nodes"]
    rows = [
        (
            node["id"],
            node["address"] + (" (controller)" if node["id"] == tree["controller"] else ""),
            node["rack"],
            place["path"],
            place["partitions"],
            place["size_bytes"] // MIB,
            None if place["free_bytes"] is None else place["free_bytes"] // MIB,
        )
        for node in nodes
        for place in node["directories"]
    ]
    rows += [
        (node["id"], node["address"], node["rack"], "(away)", None, None, None)
        for node in nodes
        if node["state"] == "away"
    ]
    rows.sort(key=lambda row: row[0])
    features = ", ".join(f"{name} {level}" for name, level in tree["features"].items()) or "none"
    return "\n".join(
        [
            f"cluster {tree['id']}: {_count(len(nodes), 'node')}, {_count(tree['topics'], 'topic')}, "
            f"{_count(tree['partitions'], 'partition')}, {_count(tree['apis'], 'API')}",
            f"features: {features}",
            table(("NODE", "ADDRESS", "RACK", "DIRECTORY", "PARTITIONS", "MIB", "MIB FREE"), rows),
        ]
    )


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
