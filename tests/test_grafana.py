"""The dashboard for Grafana and the alerts: they load, and ask for metrics and labels that there are."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from prometheus_client import CollectorRegistry, GCCollector, ProcessCollector

from broker.coordinators.group_snapshot import GroupSnapshot
from broker.coordinators.transaction_snapshot import TransactionSnapshot
from broker.fetching.share_snapshot import ShareSnapshot
from broker.server.audit_setup import make_trail
from broker.server.exposition import _SnapshotCollector
from broker.snapshot import Snapshot
from tests.broker.gateway import Gateway
from tests.broker.server.test_remote_exposition import JOURNAL, NUMBERS

ROOT: Final = Path(__file__).parents[1]
DASHBOARD: Final = json.loads((ROOT / "packaging/grafana/kawal.json").read_text())
ALERTS: Final = ROOT / "packaging/grafana/alerts.yml"

OF_THE_SCRAPE: Final = {"job", "instance"}
"""Labels that Prometheus itself adds."""

ENDINGS: Final = {
    "counter": ("_total",),
    "gauge": ("",),
    "info": ("_info",),
    "histogram": ("_bucket", "_sum", "_count"),
    "summary": ("_sum", "_count"),
}

RULE: Final = re.compile(
    r"      - alert: (?P<alert>Kawal\w+)\n"
    r"        expr: (?P<expr>\S.*)\n"
    r"        for: (?P<wait>\d+[smh])\n"
    r"        labels: {severity: (?P<severity>critical|warning)}\n"
    r'        annotations: {summary: "(?P<summary>[^"\\]+)"}\n'
)
"""The only form that a rule has here, so that it can be read without a library for YAML."""


class Rule(NamedTuple):
    """An alert."""

    alert: str
    expr: str
    wait: str
    severity: str
    summary: str


@pytest.fixture(scope="module")
def exported() -> dict[str, set[str]]:
    """Return the labels of each sample that `/metrics` can have, by its name."""
    gateway = Gateway(delegation_token_secret_key="k")
    make_trail(gateway.broker, gateway.config, lambda _batch, done: done(None))
    snapshot = Snapshot.take(gateway.broker)
    snapshot.data_directory = "/"  # the simulated directory is on no file system
    snapshot.remote = NUMBERS | JOURNAL
    registry = CollectorRegistry()
    registry.register(_SnapshotCollector(snapshot, GroupSnapshot(), TransactionSnapshot(), ShareSnapshot()))
    ProcessCollector(registry=registry)
    GCCollector(registry=registry)
    found: dict[str, set[str]] = {}
    for family in registry.collect():
        labels = set(getattr(family, "_labelnames", ()))
        labels.update(name for sample in family.samples for name in sample.labels)
        for ending in ENDINGS[family.type]:
            found[family.name + ending] = labels | ({"le"} if ending == "_bucket" else set())
    return found


def rules() -> list[Rule]:
    """Return all alerts of the file, which has nothing else."""
    head, _, body = ALERTS.read_text().partition("    rules:\n")
    assert re.fullmatch(r"(#.*\n)+groups:\n  - name: kawal\n", head)
    assert RULE.sub("", body) == ""
    return [Rule(**match.groupdict()) for match in RULE.finditer(body)]


def targets() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield each query of the dashboard with its panel."""
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel, target


def wrong(expr: str, exported: dict[str, set[str]]) -> list[str]:
    """Return what is wrong with the metrics and labels of an expression."""
    found = []
    bare = re.sub(r'"[^"]*"', '""', expr)
    known: set[str] = set(OF_THE_SCRAPE)
    for name, selector in re.findall(r"\b((?:kawal|process|python_gc)_\w+)(?:{([^}]*)})?", bare):
        if name not in exported:
            found.append(f"no metric {name}")
            continue
        known |= exported[name]
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", selector):
            if label not in exported[name] | OF_THE_SCRAPE:
                found.append(f"{name} has no label {label}")
    for group in re.findall(r"\bby \(([^)]*)\)", bare):
        found += [f"nothing has the label {label}" for label in group.split(", ") if label not in known]
    return found


def labels_of(expr: str, exported: dict[str, set[str]]) -> set[str]:
    """Return the labels that the result of an expression can have."""
    groups = re.findall(r"\bby \(([^)]*)\)", expr)
    if groups or re.search(r"\b(sum|max|min)\(", expr):
        return {label for group in groups for label in group.split(", ")} - {"le"}
    names = re.findall(r"\bkawal_\w+", expr)
    return set().union(*(exported[name] for name in names)) | OF_THE_SCRAPE


def test_every_query_asks_for_metrics_and_labels_that_are_exported(exported: dict[str, set[str]]) -> None:
    problems = {
        f"{panel['title']}: {problem}"
        for panel, target in targets()
        for problem in wrong(target["expr"], exported)
    }
    assert problems == set()


def test_every_legend_names_labels_of_its_query(exported: dict[str, set[str]]) -> None:
    for panel, target in targets():
        used = set(re.findall(r"{{(\w+)}}", target["legendFormat"]))
        assert used <= labels_of(target["expr"], exported), panel["title"]


def test_every_alert_asks_for_metrics_and_labels_that_are_exported(exported: dict[str, set[str]]) -> None:
    for rule in rules():
        assert wrong(rule.expr, exported) == [], rule.alert
        used = set(re.findall(r"\$labels\.(\w+)", rule.summary))
        assert used <= labels_of(rule.expr, exported), rule.alert


def test_a_metric_or_label_that_there_is_not_is_noticed(exported: dict[str, set[str]]) -> None:
    assert wrong("rate(kawal_request_total[5m])", exported) == ["no metric kawal_request_total"]
    assert wrong('kawal_topics{topic="t"}', exported) == ["kawal_topics has no label topic"]
    assert wrong("sum by (group) (kawal_topics)", exported) == ["nothing has the label group"]


def test_alerts_have_names_of_their_own_and_a_line_in_the_manual_each() -> None:
    names = [rule.alert for rule in rules()]
    assert len(names) == len(set(names)) >= 10
    manual = (ROOT / "docs/operations.md").read_text()
    lines = re.findall(r"^\| `(Kawal\w+)` \| ([^|]+) \| ([^|]+) \|$", manual, re.MULTILINE)
    assert [name for name, _, _ in lines] == names


def test_the_dashboard_has_what_grafana_wants_to_load_it() -> None:
    assert DASHBOARD["schemaVersion"] >= 36
    assert (DASHBOARD["uid"], DASHBOARD["title"]) == ("kawal", "Kawal")
    assert "id" not in DASHBOARD  # Grafana gives one
    identities = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(identities) == len(set(identities))
    for panel in DASHBOARD["panels"]:
        assert panel["type"] in ("row", "stat", "timeseries")
        assert panel["title"]
        assert (panel["type"] == "row") == (not panel.get("targets"))
    for panel, target in targets():
        assert panel["description"].endswith(".")
        assert target["expr"].count("(") == target["expr"].count(")")
    for panel in DASHBOARD["panels"]:
        references = [target["refId"] for target in panel.get("targets", ())]
        assert len(references) == len(set(references))


def test_no_panel_covers_another() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in DASHBOARD["panels"]:
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert cells
        assert all(0 <= x < 24 for x, _ in cells)
        assert not taken & cells, panel["title"]
        taken |= cells


def test_every_query_goes_to_the_chosen_source_job_and_server(exported: dict[str, set[str]]) -> None:
    variables = {variable["name"]: variable for variable in DASHBOARD["templating"]["list"]}
    assert variables["datasource"]["type"] == "datasource"
    assert variables["datasource"]["query"] == "prometheus"
    asked = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
    asked += [target for _, target in targets()]
    asked += [variable for variable in variables.values() if variable["type"] == "query"]
    assert {found["datasource"]["uid"] for found in asked} == {"${datasource}"}
    for panel, target in targets():
        selectors = re.findall(r"\b(?:(?:kawal|process|python_gc)_\w+|up)({[^}]*})?", target["expr"])
        assert selectors
        assert all('job="$job",instance=~"$instance"' in found for found in selectors), panel["title"]
        used = set(re.findall(r"\$(\w+)", target["expr"])) - {"__rate_interval"}
        assert used <= variables.keys()
    for variable in variables.values():
        if variable["type"] == "query":
            metric, label = re.fullmatch(
                r"label_values\((\w+)[^,]*, (\w+)\)", variable["query"]["query"]
            ).groups()  # type: ignore[union-attr]
            assert label in exported[metric] | OF_THE_SCRAPE


def test_every_metric_of_the_journal_has_a_panel(exported: dict[str, set[str]]) -> None:
    journal = {name for name in exported if name.startswith("kawal_remote_journal_")}
    assert len(journal) >= 8
    shown = " ".join(target["expr"] for _, target in targets())
    assert {name for name in journal if f"{name}{{" not in shown} == set()
