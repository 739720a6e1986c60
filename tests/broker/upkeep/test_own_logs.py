"""The logs of a node as others are told of them."""

from __future__ import annotations

import json

from broker.upkeep.own_logs import changed_logs, own_logs, value_of
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway


def test_the_log_of_the_catalogue_is_the_controllers() -> None:
    cluster = Cluster(2)
    assert [sorted(own_logs(node.broker, node.broker.vnodes)) for node in cluster] == [
        ["default/vnode-0", "default/vnode-2", "meta/vnode-0"],
        ["default/vnode-1", "default/vnode-3"],
    ]


def test_only_what_has_changed_is_found_and_only_several_nodes_are_named() -> None:
    broker = Gateway(kawal_vnodes=1).broker
    logs = own_logs(broker, broker.vnodes)
    known, has_more = changed_logs(logs, {})
    assert (sorted(known), has_more) == (["default/vnode-0", "meta/vnode-0"], False)
    assert changed_logs(logs, known) == ({}, False)
    assert "node" not in json.loads(value_of(logs["meta/vnode-0"], 5, broker.nodes))
