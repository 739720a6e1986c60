"""The metrics of the other nodes: who is there, since when one was not seen, and the links to it."""

from __future__ import annotations

import re
from pathlib import Path

from prometheus_client.core import Metric

from broker.catalogue.node_states import NodeState
from broker.server.node_exposition import node_families


def values(families: list[Metric]) -> dict[str, dict[str, float]]:
    return {
        family.name: {
            sample.labels["node"]: sample.value for sample in family.samples if "_created" not in sample.name
        }
        for family in families
    }


def test_every_number_has_its_family_and_the_manual_names_it() -> None:
    states = [NodeState(2, True, 1_500, 3, 0), NodeState(3, False, None, 7, 40)]
    found = values(list(node_families(states)))
    assert found == {
        "kawal_node_present": {"2": 1, "3": 0},
        "kawal_node_unseen_seconds": {"2": 1.5},
        "kawal_node_links": {"2": 3, "3": 7},
        "kawal_node_requests_failed": {"2": 0, "3": 40},
    }
    manual = (Path(__file__).parents[3] / "docs/operations.md").read_text()
    named = set(re.findall(r"kawal_node_[a-z_]+", manual))
    assert {name.removesuffix("_total") for name in named} == set(found)


def test_a_server_that_is_alone_has_none_of_them() -> None:
    assert list(node_families([])) == []
