"""The table of `beside`: medians of the rounds, ratios within a round."""

from __future__ import annotations

from benchmarks.views_wire.beside_table import Question, Sample, table

QUESTION = Question("none", 1)


def sample(way: str, round_: int, received: float, seconds: float, question: Question = QUESTION) -> Sample:
    return Sample(
        question=question,
        way=way,
        round=round_,
        received_bytes=received,
        seconds=seconds,
        client_cpu_seconds=seconds / 2,
        server_cpu_seconds=seconds / 4,
    )


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_a_way_has_the_medians_of_its_rounds() -> None:
    samples = [sample("A", 1, 1e6, 1), sample("A", 2, 9e6, 9), sample("A", 3, 2e6, 2)]
    lines = [cells(line) for line in table(samples, [QUESTION], ways=("A",), ratios_to="A")]
    assert lines[2] == ["none", "1", "A", "2.00 MB", "2.000 s", "1.000 s", "0.500 s", "1.500 s"]


def test_ratios_are_taken_within_a_round() -> None:
    samples = [
        *(sample("A", 1, 1e6, 10), sample("B", 1, 1e6, 1)),
        *(sample("A", 2, 40e6, 1), sample("B", 2, 1e6, 2)),
        *(sample("A", 3, 1_200e6, 4), sample("B", 3, 1e6, 1)),
    ]
    *_, last = table(samples, [QUESTION], ways=("A", "B"), ratios_to="B")
    assert cells(last)[:5] == ["", "", "A ÷ B", "**40x** (1-1,200)", "**4x** (0.5-10)"]


def test_one_round_has_no_range() -> None:
    samples = [sample("A", 1, 3e6, 3), sample("B", 1, 2e6, 1)]
    *_, last = table(samples, [QUESTION], ways=("A", "B"), ratios_to="B")
    assert cells(last)[3:5] == ["**1.5x**", "**3x**"]


def test_every_question_has_its_own_figures() -> None:
    other = Question("zstd", 10)
    samples = [sample("A", 1, 1e6, 1), sample("A", 1, 5e6, 5, other)]
    lines = [cells(line) for line in table(samples, [QUESTION, other], ways=("A",), ratios_to="A")]
    assert [line[:4] for line in lines[2::2]] == [
        ["none", "1", "A", "1.00 MB"],
        ["zstd", "10", "A", "5.00 MB"],
    ]


def test_all_lines_have_as_many_cells_as_the_head() -> None:
    samples = [sample("A", 1, 1e6, 1)]
    lines = list(table(samples, [QUESTION], ways=("A",), ratios_to="A"))
    assert len({line.count("|") for line in lines}) == 1
