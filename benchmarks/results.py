"""The findings of a run: samples, failures, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from benchmarks.bars import BARS, Bar
from benchmarks.cases import Case
from benchmarks.clients.jobs import Figures
from benchmarks.servers import ServerKind
from benchmarks.summary import Summary, ratios, summary


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The figures of one case on one server in one round."""

    case: str
    server: ServerKind
    round: int
    figures: Figures


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A case that could not be measured, and why."""

    case: str
    server: ServerKind
    round: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A bar with what was measured: a ratio, or the figure itself."""

    bar: Bar
    value: float

    @property
    def met(self) -> bool:
        """Whether the measured value meets the bar."""
        return self.bar.met_by(self.value)


@dataclass(slots=True)
class Results:
    """Everything a run has found so far."""

    samples: list[Sample] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)

    def values(self, case: str, metric: str, server: ServerKind) -> dict[int, float]:
        """Return one figure by round."""
        return {
            sample.round: sample.figures[metric]
            for sample in self.samples
            if (sample.case, sample.server) == (case, server) and metric in sample.figures
        }

    def summary(self, case: str, metric: str, server: ServerKind) -> Summary | None:
        """Summarize one figure over the rounds; None if it was not measured."""
        values = self.values(case, metric, server)
        return summary(list(values.values())) if values else None

    def ratio(self, case: str, metric: str, peer: ServerKind) -> Summary | None:
        """Summarize Kawal's figure divided by the peer's, round by round; None without a common round."""
        pairs = ratios(self.values(case, metric, "kawal"), self.values(case, metric, peer))
        return summary(pairs) if pairs else None

    def metrics(self, case: str) -> list[str]:
        """Return the names of the figures a case has, in the order they were reported."""
        return list(
            dict.fromkeys(name for sample in self.samples if sample.case == case for name in sample.figures)
        )

    def verdict(self, bar: Bar) -> Verdict | None:
        """Compare what was measured with a bar; None if it was not measured."""
        found = (
            self.ratio(bar.case, bar.metric, bar.peer)
            if bar.peer
            else self.summary(bar.case, bar.metric, "kawal")
        )
        return Verdict(bar=bar, value=found.median) if found else None

    def verdicts(self) -> list[Verdict]:
        """Return a verdict for every bar that was measured."""
        found = (self.verdict(bar) for bar in BARS)
        return [verdict for verdict in found if verdict]

    def other_cpu_share(self) -> float:
        """Return the median share of the machine that was used by neither server nor loads."""
        shares = [
            sample.figures["other_cpu_share"]
            for sample in self.samples
            if "other_cpu_share" in sample.figures
        ]
        return median(shares) if shares else 0.0


def measured_cases(results: Results, cases: Sequence[Case]) -> list[tuple[str, str]]:
    """Return name and title of every case with samples: those of the run, then those recorded in passing."""
    titles = {case.name: case.title for case in cases}
    names = dict.fromkeys(sample.case for sample in results.samples)
    in_order = [name for name in titles if name in names] + [name for name in names if name not in titles]
    return [(name, titles.get(name, name.replace("-", " "))) for name in in_order]
