"""The tables of docs/transactions.md, generated from those that run.

python -m groups.transactions.states_markdown docs/transactions.md     put them between the page's markers
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from groups.markdown_tables import answer_text, put_between, rewrite, table
from groups.transactions.states import ANSWERS, TRANSITIONS, Request

BEGIN: Final = "<!-- tables of groups/transactions/states.py: begin -->"
END: Final = "<!-- tables of groups/transactions/states.py: end -->"


def tables() -> str:
    """Return all tables as Markdown."""
    return "\n".join(
        ["### Changes of the state\n", *_transitions(), "", "### Answers to the producer\n", *_answers()]
    )


def _transitions() -> Iterator[str]:
    return table(
        ["in", "when", "goes to"],
        ([state.shown, event.value, after.shown] for (state, event), after in TRANSITIONS.items()),
    )


def _answers() -> Iterator[str]:
    return table(
        ["request", *(state.shown for state in ANSWERS)],
        (
            [request.value, *(answer_text(ANSWERS[state][request]) for state in ANSWERS)]
            for request in Request
        ),
    )


def with_tables(page: str) -> str:
    """Return the page with the current tables between its markers."""
    return put_between(page, BEGIN, END, tables())


def main() -> None:
    """Bring the page named on the command line up to date."""
    rewrite(Path(sys.argv[1]), with_tables)


if __name__ == "__main__":
    main()
