"""The tables of docs/groups.md, generated from those that run.

python -m groups.states_markdown docs/groups.md        put the tables between the page's markers
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from groups.markdown_tables import answer_text, put_between, rewrite, table
from groups.states import (
    ANSWERS,
    CLASSIC_STATUS,
    CONSUMER_STATES,
    RECONCILIATION,
    TRANSITIONS,
    GroupState,
    Request,
)

BEGIN = "<!-- tables of groups/states.py: begin -->"
END = "<!-- tables of groups/states.py: end -->"


def tables() -> str:
    """Return all tables as Markdown."""
    return "\n".join(
        [
            "### Classic groups: changes of the state\n",
            *_transitions(),
            "",
            "### Classic groups: answers\n",
            *_answers(),
            "",
            "### Consumer groups: the state follows from three facts\n",
            *_consumer_states(),
            "",
            "### Consumer groups: a member's way to the target\n",
            *_reconciliation(),
            "",
            "### Classic members in SHOW CONSUMERS\n",
            *table(
                ["group", "status"], ([state.value, status.value] for state, status in CLASSIC_STATUS.items())
            ),
        ]
    )


def _transitions() -> Iterator[str]:
    return table(
        ["in", "when", "goes to"],
        ([state.value, event.value, after.value] for (state, event), after in TRANSITIONS.items()),
    )


def _answers() -> Iterator[str]:
    return table(
        ["request", *(state.value for state in GroupState)],
        (
            [request.value, *(answer_text(ANSWERS[state][request]) for state in GroupState)]
            for request in Request
        ),
    )


def _consumer_states() -> Iterator[str]:
    return table(
        ["has members", "target is for the group epoch", "all members have reached it", "state"],
        ([*map(_yes, facts), state.value] for facts, state in CONSUMER_STATES.items()),
    )


def _reconciliation() -> Iterator[str]:
    return table(
        ["holds what it must give up", "others hold what it is to get", "member becomes", "epoch"],
        (
            [*map(_yes, facts), after.state.name, "the target's" if after.moves else "stays"]
            for facts, after in RECONCILIATION.items()
        ),
    )


def _yes(fact: bool) -> str:
    return "yes" if fact else "no"


def with_tables(page: str) -> str:
    """Return the page with the current tables between its markers."""
    return put_between(page, BEGIN, END, tables())


def main() -> None:
    """Bring the page named on the command line up to date."""
    rewrite(Path(sys.argv[1]), with_tables)


if __name__ == "__main__":
    main()
