"""The dashboard read by Grafana's own types, from which Grafana and its tools make theirs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest
from grafana_foundation_sdk.cog import plugins
from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.models import dashboard, prometheus

pytestmark = pytest.mark.only_kawal(reason="it is the gateway's own")

RAW: Final = json.loads((Path(__file__).parents[1] / "packaging/grafana/kawal.json").read_text())


@pytest.fixture(scope="module")
def read() -> dashboard.Dashboard:
    plugins.register_default_plugins()
    return dashboard.Dashboard.from_json(RAW)


def panels_of(read: dashboard.Dashboard) -> list[dashboard.Panel]:
    return [panel for panel in read.panels or [] if isinstance(panel, dashboard.Panel)]


def test_every_field_is_one_that_grafana_knows_with_the_value_that_it_takes(
    read: dashboard.Dashboard,
) -> None:
    assert list(differing(RAW, json.loads(JSONEncoder().encode(read)))) == []


def test_a_field_that_grafana_does_not_know_would_be_noticed() -> None:
    plugins.register_default_plugins()
    wrong = json.loads(json.dumps(RAW))
    wrong["panels"][1]["gridPosition"] = wrong["panels"][1].pop("gridPos")
    found = json.loads(JSONEncoder().encode(dashboard.Dashboard.from_json(wrong)))
    assert list(differing(wrong, found)) == [".panels[1].gridPosition"]


def test_each_panel_asks_prometheus_and_lies_beside_the_others(read: dashboard.Dashboard) -> None:
    taken: set[tuple[int, int]] = set()
    assert len(panels_of(read)) > 20
    for panel in panels_of(read):
        assert panel.targets, panel.title
        for target in panel.targets:
            assert isinstance(target, prometheus.Dataquery), panel.title
            assert target.expr
        place = panel.grid_pos
        assert place is not None
        cells = {(place.x + dx, place.y + dy) for dx in range(place.w) for dy in range(place.h)}
        assert max(x for x, _ in cells) < 24, panel.title
        assert not cells & taken, panel.title
        taken |= cells


def differing(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Return the places of what is in the first and not the same in the second."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            place
            for name, value in ours.items()
            for place in (
                differing(value, theirs[name], f"{path}.{name}") if name in theirs else [f"{path}.{name}"]
            )
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            place
            for number, (mine, other) in enumerate(zip(ours, theirs, strict=True))
            for place in differing(mine, other, f"{path}[{number}]")
        ]
    return [] if ours == theirs else [path]
