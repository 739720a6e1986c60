"""Judges of values by declared columns, compiled once and kept as long as there is room.

One for 1,000 columns takes about 2 MB and 20 ms of a thread, one for 20 columns a fiftieth of both: so there
is room for a number of characters of `kawal.columns`, not for a number of topics.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from views.unfit_judge import Judge

CHARACTERS_MAX: Final = 256 << 10
"""The columns of some hundred topics, or of a dozen that declare as many as they may; about 30 MB."""


class ColumnJudges:
    """The judges that were used last; threads may ask at the same time."""

    def __init__(self, characters_max: int = CHARACTERS_MAX) -> None:
        self._characters_max = characters_max
        self._characters = 0
        self._lock = Lock()
        self._judges: OrderedDict[str, Judge] = OrderedDict()

    def __len__(self) -> int:
        return len(self._judges)

    def of(self, columns: str) -> Judge:
        """Return the judge by the text of `kawal.columns`."""
        with self._lock:
            known = self._judges.get(columns)
            if known is not None:
                self._judges.move_to_end(columns)
                return known
        made = _compiled(columns)
        with self._lock:
            if columns not in self._judges:
                self._characters += len(columns)
            self._judges[columns] = made
            while self._characters > self._characters_max and len(self._judges) > 1:
                oldest, _ = self._judges.popitem(last=False)
                self._characters -= len(oldest)
        return made


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
