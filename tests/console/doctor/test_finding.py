"""The findings as text and as a tree."""

from __future__ import annotations

from console.doctor.finding import as_text, as_tree, ok, problem, warning, worst

FINDINGS = [
    ok("memory", "enough"),
    warning("limits", "few", "raise them"),
    problem("disk", "x " * 70, "replace it"),
]


def test_the_gravest_verdict_counts() -> None:
    assert worst(FINDINGS) == "problem"
    assert worst(FINDINGS[:2]) == "warning"
    assert worst(FINDINGS[:1]) == "ok"


def test_people_read_a_line_for_each_and_a_sum() -> None:
    lines = as_text(FINDINGS).splitlines()
    assert lines[0] == "ok       memory  enough"
    assert lines[1] == "warning  limits  few: raise them"
    assert lines[2].startswith("problem  disk    x x")
    assert lines[3].startswith("                 x")
    assert lines[-1] == "1 problem and 1 warning; fix the problems first"
    assert as_text(FINDINGS[:2]).splitlines()[-1] == "no problems, 1 warning"
    assert as_text(FINDINGS[:1]).splitlines()[-1] == "no problems"


def test_programs_get_a_tree() -> None:
    assert as_tree(FINDINGS[:1]) == {
        "verdict": "ok",
        "findings": [{"check": "memory", "verdict": "ok", "text": "enough", "advice": ""}],
    }
