"""Tables of states as Markdown, and their place in a page that is otherwise written by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from enum import Enum
from pathlib import Path

from protocol.error_codes import ErrorCode


def table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    """Yield the lines of a table."""
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def answer_text(answer: Enum) -> str:
    """Return an answer as a table shows it: an error with its number, an action by its name."""
    return f"{answer.name} {int(answer)}" if isinstance(answer, ErrorCode) else str(answer.value)


def put_between(page: str, begin: str, end: str, text: str) -> str:
    """Return the page with a text between two of its lines, in place of what was there."""
    before, _, rest = page.partition(begin)
    _, _, after = rest.partition(end)
    assert after, f"the page lacks the lines {begin!r} and {end!r}"
    return f"{before}{begin}\n\n{text}\n\n{end}{after}"


def rewrite(page: Path, change: Callable[[str], str]) -> None:
    """Change a page on the disk."""
    page.write_text(change(page.read_text(encoding="utf-8")), encoding="utf-8")
