"""The table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from benchmarks.bars import BARS, Bar
from benchmarks.cases import Case
from benchmarks.results import Results, measured_cases
from benchmarks.servers import SERVER_KINDS, TITLES, ServerKind
from benchmarks.summary import Summary


class Metric(NamedTuple):
    """The title and the decimals of a figure."""

    title: str
    digits: int


METRICS = {
    "mb_per_s": Metric("MB/s", 0),
    "records_per_s": Metric("1,000 records/s", 0),
    "cpu_s_per_gb": Metric("server CPU-s/GB", 2),
    "requests_per_s": Metric("requests/s", 0),
    "cpu_us_per_request": Metric("server CPU µs/request", 1),
    "p50_ms": Metric("p50 ms", 3),
    "p99_ms": Metric("p99 ms", 3),
    "p999_ms": Metric("p99.9 ms", 3),
    "sent_mb_per_second": Metric("sent MB/s", 1),
    "first_answer_s": Metric("s to first answer", 3),
    "first_ack_s": Metric("s to first ack", 3),
    "create_and_write_s": Metric("s to create and write", 2),
    "rss_mb": Metric("resident MB", 0),
    "rss_after_restart_mb": Metric("resident MB, restarted", 0),
    "peak_rss_mb": Metric("peak resident MB", 0),
    "left_in_cache_mb": Metric("MB left in page cache", 1),
}
"""The figures the table shows; the JSON file has all."""

THOUSANDS = {"records_per_s"}
METRIC_WIDTH, FIGURE_WIDTH, RATIO_WIDTH, BAR_WIDTH = 26, 24, 22, 22
BUSY_SHARE = 0.10
REASON_HALF = 200


def table(results: Results, cases: Sequence[Case]) -> str:
    """Return the whole table: a block per case, a line per figure, and the count of bars met."""
    kinds = [kind for kind in SERVER_KINDS if any(sample.server == kind for sample in results.samples)]
    heads = "".join(f"{TITLES[kind]:<{FIGURE_WIDTH}}" for kind in kinds)
    lines = [f"{'':<{METRIC_WIDTH}}{heads}{'ratio (range)':<{RATIO_WIDTH}}{'bar':<{BAR_WIDTH}}verdict"]
    for name, title in measured_cases(results, cases):
        lines.append(title)
        for metric in results.metrics(name):
            if metric in METRICS:
                lines += _metric_lines(results, name, metric, kinds)
    return "\n".join(line.rstrip() for line in [*lines, "", *_notes(results)])


def _metric_lines(results: Results, case: str, metric: str, kinds: Sequence[ServerKind]) -> list[str]:
    figures = "".join(
        f"{_figure(results.summary(case, metric, kind), metric):<{FIGURE_WIDTH}}" for kind in kinds
    )
    head = f"  {METRICS[metric].title:<{METRIC_WIDTH - 2}}{figures}"
    bars: list[Bar | None] = [bar for bar in BARS if (bar.case, bar.metric) == (case, metric)]
    tails = [_tail(results, case, metric, bar) for bar in bars or [None]]
    return [(head if not place else " " * len(head)) + tail for place, tail in enumerate(tails)]


def _tail(results: Results, case: str, metric: str, bar: Bar | None) -> str:
    peer = bar.peer if bar and bar.peer else "kafka"
    ratio = results.ratio(case, metric, peer)
    shown = f"{ratio.median:.2f}x" if ratio else ""
    if ratio and ratio.rounds > 1:
        shown += f" ({ratio.low:.2f}-{ratio.high:.2f})"
    if bar is None:
        return shown
    verdict = results.verdict(bar)
    word = "not measured" if verdict is None else "met" if verdict.met else "NOT MET"
    return f"{shown:<{RATIO_WIDTH}}{bar.text:<{BAR_WIDTH}}{word}"


def _figure(found: Summary | None, metric: str) -> str:
    if found is None:
        return "-"
    scale, digits = (1_000 if metric in THOUSANDS else 1), METRICS[metric].digits
    middle, low, high = (f"{value / scale:,.{digits}f}" for value in (found.median, found.low, found.high))
    return f"{middle} ({low}-{high})" if found.rounds > 1 else middle


def _notes(results: Results) -> list[str]:
    verdicts = results.verdicts()
    notes = [f"{sum(verdict.met for verdict in verdicts)} of {len(verdicts)} bars measured are met."]
    share = results.other_cpu_share()
    if share > BUSY_SHARE:
        notes.append(
            f"The machine was not quiet: {share:.0%} of its cores went to neither the server nor the loads."
        )
    notes += [
        f"FAILED {failure.case} on {TITLES[failure.server]}, round {failure.round}: "
        f"{shortened(failure.reason)}"
        for failure in results.failures
    ]
    return notes


def shortened(reason: str) -> str:
    """Return the beginning and the end of a long reason in one line; the JSON file has all of it."""
    line = " ".join(reason.split())
    return line if len(line) <= 2 * REASON_HALF else f"{line[:REASON_HALF]} … {line[-REASON_HALF:]}"


def one_line(figures: dict[str, float]) -> str:
    """Return the figures of one sample for the progress lines."""
    shown = (
        (METRICS[name], value / (1_000 if name in THOUSANDS else 1))
        for name, value in figures.items()
        if name in METRICS
    )
    return ", ".join(f"{value:,.{metric.digits}f} {metric.title}" for metric, value in shown)
