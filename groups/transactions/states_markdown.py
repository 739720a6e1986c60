"""The tables of docs/transactions.md, generated from those that run.

python -m groups.transactions.states_markdown docs/transactions.md     put them between the page's markers
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from groups.transactions.states import ANSWERS, TRANSITIONS, Action, Request
from protocol.error_codes import ErrorCode

BEGIN: Final = "<!-- tables of groups/transactions/states.py: begin -->"
END: Final = "<!-- tables of groups/transactions/states.py: end -->"


def tables() -> str:
    """Return all tables as Markdown."""
    return "\n".join(
        ["### Changes of the state\n", *_transitions(), "", "### Answers to the producer\n", *_answers()]
    )


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _transitions() -> Iterator[str]:
    return _table(
        ["in", "when", "goes to"],
        ([state.shown, event.value, after.shown] for (state, event), after in TRANSITIONS.items()),
    )


def _answers() -> Iterator[str]:
    return _table(
        ["request", *(state.shown for state in ANSWERS)],
        ([request.value, *(_answer(ANSWERS[state][request]) for state in ANSWERS)] for request in Request),
    )


def _answer(answer: Action | ErrorCode) -> str:
    return answer.value if isinstance(answer, Action) else f"{answer.name} {int(answer)}"


def with_tables(page: str) -> str:
    """Return the page with the current tables between its markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    assert after, f"the page lacks the lines {BEGIN!r} and {END!r}"
    return f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}"


def main() -> None:
    """Bring the page named on the command line up to date."""
    page = Path(sys.argv[1])
    page.write_text(with_tables(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
