"""The tables of docs/groups.md, generated from those that run.

python -m groups.states_markdown docs/groups.md        put the tables between the page's markers
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from groups.states import (
    ANSWERS,
    CLASSIC_STATUS,
    CONSUMER_STATES,
    RECONCILIATION,
    TRANSITIONS,
    Action,
    GroupState,
    Request,
)
from protocol.error_codes import ErrorCode

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
            *_table(
                ["group", "status"], ([state.value, status.value] for state, status in CLASSIC_STATUS.items())
            ),
        ]
    )


def _table(head: list[str], rows: Iterable[list[str]]) -> Iterator[str]:
    yield f"| {' | '.join(head)} |"
    yield f"|{'---|' * len(head)}"
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _transitions() -> Iterator[str]:
    return _table(
        ["in", "when", "goes to"],
        ([state.value, event.value, after.value] for (state, event), after in TRANSITIONS.items()),
    )


def _answers() -> Iterator[str]:
    return _table(
        ["request", *(state.value for state in GroupState)],
        ([request.value, *(_answer(ANSWERS[state][request]) for state in GroupState)] for request in Request),
    )


def _answer(answer: Action | ErrorCode) -> str:
    return answer.value if isinstance(answer, Action) else f"{answer.name} {int(answer)}"


def _consumer_states() -> Iterator[str]:
    return _table(
        ["has members", "target is for the group epoch", "all members have reached it", "state"],
        ([*map(_yes, facts), state.value] for facts, state in CONSUMER_STATES.items()),
    )


def _reconciliation() -> Iterator[str]:
    return _table(
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
