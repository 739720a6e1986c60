"""What a check has found, and how all of it is shown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

Verdict = Literal["ok", "warning", "problem"]

WIDTH = 100


class Finding(NamedTuple):
    """One thing that was looked at: `advice` says what to do when it is not ok."""

    check: str
    verdict: Verdict
    text: str
    advice: str = ""


def ok(check: str, text: str) -> Finding:
    """All is well."""
    return Finding(check, "ok", text)


def warning(check: str, text: str, advice: str) -> Finding:
    """The server works, but not as it could, or not for long."""
    return Finding(check, "warning", text, advice)


def problem(check: str, text: str, advice: str) -> Finding:
    """The server does not start, or what it acknowledges is not safe."""
    return Finding(check, "problem", text, advice)


def worst(findings: Sequence[Finding]) -> Verdict:
    """The gravest verdict."""
    verdicts = {finding.verdict for finding in findings}
    return "problem" if "problem" in verdicts else "warning" if "warning" in verdicts else "ok"


def as_tree(findings: Sequence[Finding]) -> dict[str, Any]:
    """The findings for programs."""
    return {"verdict": worst(findings), "findings": [finding._asdict() for finding in findings]}


def as_text(findings: Sequence[Finding]) -> str:
    """The findings for people, and a last line that sums up."""
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
        return f"{_count(problems, 'problem')} and {_count(warnings, 'warning')}; mend the problems first"
    return f"no problems, {_count(warnings, 'warning')}" if warnings else "no problems"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
