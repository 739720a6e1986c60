"""The findings of a check, and how they are shown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Verdict = Literal["ok", "warning", "problem"]

WIDTH = 100


class Finding(NamedTuple):
    """The result of looking at one thing; `advice` says what to do when it is not ok."""

    check: str
    verdict: Verdict
    text: str
    advice: str = ""


def ok(check: str, text: str) -> Finding:
    """Find that all is well."""
    return Finding(check, "ok", text)


def warning(check: str, text: str, advice: str) -> Finding:
    """Find that the server works, but not as well as it could, or not for long."""
    return Finding(check, "warning", text, advice)


def problem(check: str, text: str, advice: str) -> Finding:
    """Find that the server does not start, or that what it acknowledges is not safe."""
    return Finding(check, "problem", text, advice)


def worst(findings: Sequence[Finding]) -> Verdict:
    """Return the gravest verdict."""
    verdicts = {finding.verdict for finding in findings}
    return "problem" if "problem" in verdicts else "warning" if "warning" in verdicts else "ok"


def as_tree(findings: Sequence[Finding]) -> dict[str, Any]:
    """Return the findings for programs."""
    return {"verdict": worst(findings), "findings": [finding._asdict() for finding in findings]}


def as_text(findings: Sequence[Finding]) -> str:
    """Return the findings for people, with a last line that sums up."""
    width = max(len(finding.check) for finding in findings)
    lines = []
    for finding in findings:
        text = f"{finding.text}: {finding.advice}" if finding.advice else finding.text
        head = f"{finding.verdict:<8} {finding.check:<{width}}  "
        lines.append(textwrap.fill(text, WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))
    return "\n".join([*lines, "", _summary(findings)])


def _summary(findings: Sequence[Finding]) -> str:
    problems = sum(finding.verdict == "problem" for finding in findings)
    warnings = sum(finding.verdict == "warning" for finding in findings)
    if problems:
        return f"{_count(problems, 'problem')} and {_count(warnings, 'warning')}; fix the problems first"
    return f"no problems, {_count(warnings, 'warning')}" if warnings else "no problems"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
