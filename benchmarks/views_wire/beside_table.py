"""The figures of `beside` as a Markdown table: medians, and ratios taken round by round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmarks.summary import Summary, ratios, summary


@dataclass(frozen=True, slots=True)
class Question:
    """A question: how the records are stored, and how many consumers ask at once."""

    codec: str
    consumers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The cost of one way in one round, all consumers together."""

    question: Question
    way: str
    round: int
    received_bytes: float
    seconds: float
    client_cpu_seconds: float
    server_cpu_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """The CPU time of clients and server together."""
        return self.client_cpu_seconds + self.server_cpu_seconds


FIGURES = {
    "received_bytes": "received",
    "seconds": "until the last match",
    "client_cpu_seconds": "client CPU",
    "server_cpu_seconds": "server CPU",
    "cpu_seconds": "both CPU",
}
"""Titles of the columns by the sample's field."""


def table(
    samples: Sequence[Sample], questions: Sequence[Question], *, ways: Sequence[str], ratios_to: str
) -> Iterator[str]:
    """Yield for each question a line per way, and one that divides the first way by `ratios_to`."""
    yield _line("codec", "consumers", "", *FIGURES.values())
    yield _line(*["---"] * (3 + len(FIGURES)))
    for question in questions:
        of_question = [sample for sample in samples if sample.question == question]
        head = (question.codec, str(question.consumers))
        for way in ways:
            of_way = [sample for sample in of_question if sample.way == way]
            medians = (summary(_rounds(of_way, name)).median for name in FIGURES)
            yield _line(*head, way, *map(_shown, FIGURES, medians))
            head = ("", "")
        divided = (_divided(of_question, name, ways[0], ratios_to) for name in FIGURES)
        yield _line("", "", f"{ways[0]} ÷ {ratios_to}", *divided)


def _rounds(samples: Sequence[Sample], name: str) -> list[float]:
    return [getattr(sample, name) for sample in samples]


def _divided(samples: Sequence[Sample], name: str, theirs: str, ours: str) -> str:
    by_way = {
        way: {sample.round: float(getattr(sample, name)) for sample in samples if sample.way == way}
        for way in (theirs, ours)
    }
    return _shown_ratio(summary(ratios(by_way[theirs], by_way[ours])))


def _shown(name: str, value: float) -> str:
    return f"{value / 1e6:,.2f} MB" if name == "received_bytes" else f"{value:.3f} s"


def _shown_ratio(ratio: Summary) -> str:
    text = f"**{_times(ratio.median)}x**"
    return text if ratio.rounds == 1 else f"{text} ({_times(ratio.low)}-{_times(ratio.high)})"


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.2g}"


def _line(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
