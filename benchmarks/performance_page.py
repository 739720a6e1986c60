"""The documents' page of figures, with its pictures, made from the JSON of a run.

`python -m benchmarks.performance_page FILE` writes them.
The page has nothing that is not in the file: the commit, the machine, medians with their ranges, ratios of
rounds, and the bars with their verdicts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from benchmarks.environment import REPOSITORY
from benchmarks.report import METRICS, THOUSANDS
from benchmarks.servers import SERVER_KINDS, TITLES

PAGE = REPOSITORY / "docs" / "performance.md"
PICTURES = REPOSITORY / "docs" / "pictures"

PLOTS = {
    "performance-rates.svg": ("mb_per_s", "MB/s, more is better"),
    "performance-costs.svg": ("cpu_s_per_gb", "server's processor seconds a GB, less is better"),
}
"""The pictures, each with the figure that it shows of all cases that have it."""

COLOURS = {"kafka": "#8a8f98", "kafka-fsync": "#c2a878", "kafka-lean": "#bbbbbb", "kawal": "#2f6f9f"}

SHOWN = ("mb_per_s", "cpu_s_per_gb", "requests_per_s", "cpu_us_per_request", "p50_ms", "p99_ms",
         "first_answer_s", "first_ack_s", "rss_mb")  # fmt: skip

BUSY_SHARE = 0.1
"""The share of the cores that others may take before the page says so."""

BAR, GAP, LEFT, WIDTH = 12, 10, 300, 760

Document = dict[str, Any]


def main(words: Sequence[str]) -> int:
    """Write the page and its pictures; exit code 2 for a wrong call."""
    if len(words) != 1:
        print("give the JSON file of a run of 'make bench'", file=sys.stderr)
        return 2
    path = Path(words[0])
    document = json.loads(path.read_text())
    PAGE.write_text(page(document, path.name))
    for name, text in pictures(document).items():
        (PICTURES / name).write_text(text)
    return 0


def page(document: Document, source: str) -> str:
    """Return the text of the page; `source` is the name of the file with the figures."""
    return "\n".join([*_heading(document, source), *_table(document), *_bars(document)]) + "\n"


def pictures(document: Document) -> dict[str, str]:
    """Return the pictures by file name; one without figures is left out."""
    found = {name: _plot(document, *what) for name, what in PLOTS.items()}
    return {name: text for name, text in found.items() if text}


def _heading(document: Document, source: str) -> Iterator[str]:
    machine, versions, run = document["machine"], document["versions"], document["run"]
    disk = machine["disk"]
    yield "# Performance"
    yield ""
    yield "<!-- Made by `python -m benchmarks.performance_page FILE`; do not edit. -->"
    yield ""
    changes = " with changes" if document["changed_since_commit"] else ""
    yield (
        f"Kawal beside Apache Kafka {versions['kafka']}, measured on {document['date'][:10]} at commit"
        f" `{(document['commit'] or 'unknown')[:9]}`{changes}: rounds: {run['rounds']},"
        f" servers in turns on the same disk, client {run['scale']['client']} (librdkafka"
        f" {versions['librdkafka']}) on the same cores. Kawal syncs before it acknowledges; *Kafka* does not,"
        " *Kafka fsync* does. Figures are medians, with their range; ratios are taken within a round. They"
        f" are in [{source}](../benchmarks/results/{source}); `make bench` measures them again, and"
        " [benchmarks](../benchmarks/README.md) says how."
    )
    yield ""
    yield (
        f"Machine: {machine['cores']} cores {machine['processor']}, {machine['memory_bytes'] / 1e9:.0f} GB,"
        f" {machine['system']}, Linux {machine['kernel']}; disk {disk['file_system']}, 4 KiB synced in"
        f" {disk['sync_4k_ms']:.2f} ms; Python {versions['python']}."
    )
    yield ""
    if (share := _other_share(document)) > BUSY_SHARE:
        yield (
            f"**The machine was not quiet**: {share:.0%} of its cores went to neither the servers nor their"
            " clients. Rates are lower than they would be, and a server of one thread suffers more than one"
            " of many."
        )
        yield ""
    for name, (_, title) in PLOTS.items():
        yield f"![{title}](pictures/{name})"
        yield ""


def _other_share(document: Document) -> float:
    shares = sorted(
        sample["figures"]["other_cpu_share"]
        for sample in document["samples"]
        if "other_cpu_share" in sample["figures"]
    )
    return shares[len(shares) // 2] if shares else 0.0


def _servers(document: Document) -> list[str]:
    present = {sample["server"] for sample in document["samples"]}
    return [kind for kind in SERVER_KINDS if kind in present]


def _table(document: Document) -> Iterator[str]:
    kinds = _servers(document)
    yield "| work | figure | " + " | ".join(TITLES[kind] for kind in kinds) + " | Kawal to Kafka |"  # type: ignore[index]
    yield "|---" * (len(kinds) + 3) + "|"
    for case in document["cases"].values():
        title = case["title"]
        for name, metric in case["metrics"].items():
            if name not in SHOWN:
                continue
            figures = " | ".join(_figure(metric["servers"].get(kind), name) for kind in kinds)
            yield f"| {title} | {METRICS[name].title} | {figures} | {_ratio(metric)} |"
            title = ""
    yield ""


def _figure(found: dict[str, float] | None, name: str) -> str:
    if found is None:
        return "-"
    scale, digits = (1_000 if name in THOUSANDS else 1), METRICS[name].digits
    middle, low, high = (f"{found[key] / scale:,.{digits}f}" for key in ("median", "low", "high"))
    return f"{middle} ({low}-{high})" if found["rounds"] > 1 else middle


def _ratio(metric: Document) -> str:
    ratio = metric["kawal_to"].get("kafka")
    return f"{ratio['median']:.2f}" if ratio else "-"


def _bars(document: Document) -> Iterator[str]:
    if not document["bars"]:
        return
    met = sum(bar["met"] for bar in document["bars"])
    yield f"## Bars: {met} of {len(document['bars'])} met"
    yield ""
    yield "| work | figure | bar | measured | |"
    yield "|---|---|---|---|---|"
    for bar in document["bars"]:
        title = document["cases"][bar["case"]]["title"]
        peer = f" x {TITLES[bar['peer']]}" if bar["peer"] else ""
        verdict = "met" if bar["met"] else "**missed**"
        limit = f"{bar['sense']} {bar['limit']:g}{peer}"
        yield f"| {title} | {METRICS[bar['metric']].title} | {limit} | {bar['measured']:.3g} | {verdict} |"


def _plot(document: Document, name: str, title: str) -> str:
    """Return horizontal bars, a group for each case with the figure; empty without any."""
    rows = [
        (case["title"], case["metrics"][name]["servers"])
        for case in document["cases"].values()
        if name in case["metrics"]
    ]
    if not rows:
        return ""
    kinds = _servers(document)
    largest = max(figures["median"] for _, found in rows for figures in found.values())
    lines, y = [], 44
    for label, found in rows:
        lines.append(_text(LEFT - 8, y + BAR, label, "end"))
        for kind in kinds:
            if kind in found:
                lines += _bar(y, found[kind], largest, kind)
                y += BAR
        y += GAP
    legend = [
        f'<rect x="{LEFT + 110 * place}" y="22" width="10" height="10" fill="{COLOURS[kind]}"/>'
        + _text(LEFT + 110 * place + 14, 31, TITLES[kind])  # type: ignore[index]
        for place, kind in enumerate(kinds)
    ]
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" font-family="sans-serif">'
    ground = f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>'
    return "\n".join([head, ground, _text(8, 16, title), *legend, *lines, "</svg>"]) + "\n"


def _bar(y: int, figures: dict[str, float], largest: float, kind: str) -> list[str]:
    room = WIDTH - LEFT - 70
    width, low, high = (figures[key] / largest * room for key in ("median", "low", "high"))
    middle = y + BAR / 2
    return [
        f'<rect x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR - 2}" fill="{COLOURS[kind]}"/>',
        f'<line x1="{LEFT + low:.1f}" x2="{LEFT + high:.1f}" y1="{middle}" y2="{middle}" stroke="#222222"/>',
        _text(LEFT + max(width, high) + 6, y + BAR - 3, f"{figures['median']:.3g}"),
    ]


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y}" text-anchor="{anchor}"'
    return f'<text {place} font-size="11" fill="#222222">{escape(text)}</text>'


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
