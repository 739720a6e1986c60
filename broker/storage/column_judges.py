"""Judges of values by declared columns, compiled once and kept as long as there is room.

One for 1,000 columns takes 0.5 MB and 17 ms of a thread, one for 20 columns a thirtieth of both: so
there is room for a number of characters of `kawal.columns`, not for a number of topics.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from views.unfit_judge import Judge

CHARACTERS_MAX: Final = 256 << 10
"""The columns of some hundred topics, or of a dozen that declare as many as they may; about 7 MB."""

LEAST: Final = 512
"""Shorter columns count as this many characters."""


class ColumnJudges:
    """The judges that were used last.

    Threads may ask at the same time: each step is one of the interpreter's own, and what two of them compile
    is the same.
    """

    def __init__(self, characters_max: int = CHARACTERS_MAX) -> None:
        self._characters_max = characters_max
        # The one used last is the last.
        self._judges: dict[str, Judge] = {}

    def __len__(self) -> int:
        return len(self._judges)

    def of(self, columns: str) -> Judge:
        """Return the judge by the text of `kawal.columns`."""
        known = self._judges.pop(columns, None)
        if known is not None:
            self._judges[columns] = known
            return known
        made = self._judges[columns] = _compiled(columns)
        self._make_room()
        return made

    def _make_room(self) -> None:
        kept = list(self._judges)
        characters = sum(map(_weight, kept))
        for oldest in kept[:-1]:
            if characters <= self._characters_max:
                return
            self._judges.pop(oldest, None)
            characters -= _weight(oldest)


def _weight(columns: str) -> int:
    return max(LEAST, len(columns))


def _compiled(columns: str) -> Judge:
    from views.columns import parse_columns
    from views.plan import UnfitPlan, plan_view
    from views.statement import parse_view
    from views.unfit_judge import Judge

    plan = plan_view(parse_view("UNFIT topic"), parse_columns(columns))
    assert isinstance(plan, UnfitPlan)
    return Judge(plan)


JUDGES: Final = ColumnJudges()
"""Those of the process."""
