"""The figures of a run as a JSON file, and the facts about the machine as a heading."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.cases import Case
from benchmarks.results import Results, measured_cases
from benchmarks.servers import SERVER_KINDS
from benchmarks.summary import Summary

FORMAT = 1


def heading(facts: Mapping[str, Any]) -> str:
    """Return the facts in a few lines."""
    machine, versions = facts["machine"], facts["versions"]
    disk = machine["disk"]
    return (
        f"{machine['cores']} cores {machine['processor']}, {machine['memory_bytes'] / 1e9:.0f} GB, "
        f"{machine['system']}, Linux {machine['kernel']}\n"
        f"disk {disk['device']} ({disk['file_system']}): synced 4 KiB in {disk['sync_4k_ms']:.2f} ms, "
        f"1 MiB at {disk['sync_1m_mb_per_s']:.0f} MB/s\n"
        f"Kawal {versions['kawal']} on Python {versions['python']}, Apache Kafka {versions['kafka'] or '-'}, "
        f"librdkafka {versions['librdkafka']}; load average {machine['load_average'][0]:.2f}\n"
    )


def write(
    path: Path, *, facts: Mapping[str, Any], run: Mapping[str, Any], results: Results, cases: Sequence[Case]
) -> None:
    """Write everything: facts, summaries, verdicts and every single sample."""
    document = {"format": FORMAT, **facts, "run": run, **findings(results, cases)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def findings(results: Results, cases: Sequence[Case]) -> dict[str, Any]:
    """Return summaries, verdicts and every single sample."""
    return {
        "cases": {name: _case(results, name, title) for name, title in measured_cases(results, cases)},
        "bars": [
            {**asdict(verdict.bar), "measured": _rounded(verdict.value), "met": verdict.met}
            for verdict in results.verdicts()
        ],
        "failures": [asdict(failure) for failure in results.failures],
        "samples": [
            asdict(sample) | {"figures": {name: _rounded(value) for name, value in sample.figures.items()}}
            for sample in results.samples
        ],
    }


def _case(results: Results, name: str, title: str) -> dict[str, Any]:
    metrics = {metric: _metric(results, name, metric) for metric in results.metrics(name)}
    return {"title": title, "metrics": metrics}


def _metric(results: Results, case: str, metric: str) -> dict[str, Any]:
    found = {kind: _summary(results.summary(case, metric, kind)) for kind in SERVER_KINDS}
    ratios = {kind: _summary(results.ratio(case, metric, kind)) for kind in SERVER_KINDS if kind != "kawal"}
    return {
        "servers": {kind: figures for kind, figures in found.items() if figures},
        "kawal_to": {kind: ratio for kind, ratio in ratios.items() if ratio},
    }


def _summary(figures: Summary | None) -> dict[str, float] | None:
    if figures is None:
        return None
    return {
        "median": _rounded(figures.median),
        "low": _rounded(figures.low),
        "high": _rounded(figures.high),
        "spread": _rounded(figures.spread),
        "rounds": figures.rounds,
    }


def _rounded(value: float) -> float:
    """Round to six significant digits: more were not measured."""
    return float(f"{value:.6g}")
