"""Statements of views to be, read and planned once: a long one by a thread, before the view is made.

    draft = Draft(text, name)
    yield from prepared(draft, catalogue, offload)     a long one is read, and planned over its source
    define_statement(draft, catalogue)                 takes what is there; else reads and plans at once

The longest statements take 15 ms to read and 4 to plan.  What is wrong with one is found out once, too, and
is told where the view is made: only there it is known what its maker may be told.  A plan is of the columns
that its source has then; where they have changed since, it is made again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple, TypeVar

from broker.config.kawal_topic_keys import COLUMNS_KEY, VALUE_FORMAT_KEY
from broker.errors import RequestError
from broker.loop.slices import Offload, WaitingSteps, in_thread

if TYPE_CHECKING:
    from broker.catalogue.topics import Topic
    from views.errors import ViewError
    from views.plan import Plan
    from views.statement import Statement

LONG_STATEMENT_CHARS: Final = 500
"""Statements from this length on are read by a thread: a shorter one takes less than 1 ms."""

Made = TypeVar("Made")


class Layout(NamedTuple):
    """The facts about the source of a view that its plan depends on."""

    columns: str
    """The columns that it declares, as its configuration has them; "": none."""
    is_framed: bool
    """Whether its values are framed for a schema registry."""


def layout_of(source: Topic) -> Layout:
    """Return the layout of a topic's records."""
    framed = source.configs.get(VALUE_FORMAT_KEY.name) == "registry"
    return Layout(source.configs.get(COLUMNS_KEY.name, ""), framed)


class Draft:
    """The statement of a view to be."""

    __slots__ = ("_planned", "_statement", "name", "text")

    def __init__(self, text: str, name: str) -> None:
        """`name` is that of the view."""
        self.text = text
        self.name = name
        self._statement: Statement | ViewError | None = None
        self._planned: tuple[Layout, Plan | ViewError] | None = None

    def statement(self) -> Statement:
        """Return what it says.  Raises: ViewError."""
        from views.statement import parse_view

        if self._statement is None:
            self._statement = _outcome(lambda: parse_view(self.text, topic=self.name))
        return _told(self._statement)

    def plan(self, layout: Layout) -> Plan:
        """Return its plan over a source of this layout.  Raises: ViewError."""
        from views.columns import parse_columns
        from views.plan import plan_view

        if self._planned is None or self._planned[0] != layout:
            statement = self.statement()

            def make() -> Plan:
                columns = parse_columns(layout.columns) if layout.columns else None
                return plan_view(statement, columns, framed=layout.is_framed)

            self._planned = layout, _outcome(make)
        return _told(self._planned[1])


def _outcome(make: Callable[[], Made]) -> Made | ViewError:
    from views.errors import ViewError

    try:
        return make()
    except ViewError as error:
        # Its frames would keep all that they know as long as the draft.
        return error.with_traceback(None)


def _told(outcome: Made | ViewError) -> Made:
    if isinstance(outcome, Exception):
        raise outcome.with_traceback(None)
    return outcome


def prepared(draft: Draft, source_of: Callable[[Statement], Topic | None], offload: Offload) -> WaitingSteps:
    """Have a thread read a long statement, and plan it over its source; what is wrong is told later.

    `source_of` returns the topic that a statement reads, None if it is none.  Raises: RequestError.
    """
    from views.errors import ViewError

    if len(draft.text) < LONG_STATEMENT_CHARS:
        return
    try:
        statement = yield from in_thread(offload, draft.statement)
        source = source_of(statement)
        if source is not None:
            yield from in_thread(offload, partial(draft.plan, layout_of(source)))
    except (RequestError, ViewError):
        return
