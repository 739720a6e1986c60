"""A change before it is made: its difference, its effects, and the same as a command; then the button.

GET shows the plan (a dry run makes it), POST makes the change.  `plan.html` shows any of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from console.web.errors import PageError
from console.web.visit import Crumb, View, Visit


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A change that a form would make."""

    command: str
    """The `kawal` command that does the same (command_text.py)."""
    action: str
    """The path to which the form is sent."""
    verb: str
    """The word on the button."""
    differences: Sequence[tuple[str, str, str]] = ()
    """Things that change, each with its value now and its value then."""
    effects: Sequence[str] = ()
    """Sentences about what follows: records, bytes, views and groups concerned."""
    fields: Sequence[tuple[str, str]] = ()
    """What the form carries."""
    confirm: str = ""
    """The name that must be written to confirm; "" for changes that can be taken back."""
    problem: str = ""
    """Why the broker would refuse, as its dry run said: there is no button then."""


def plan_view(title: str, plan: Plan, crumbs: Sequence[Crumb] = ()) -> View:
    """Return the page that shows a plan."""
    return View(title=title, template="plan.html", context={"plan": plan}, crumbs=crumbs)


def check_confirmed(visit: Visit, name: str) -> None:
    """Raise PageError unless the form names what it is about to remove."""
    if visit.form.one("confirm") != name:
        raise PageError(400, f"nothing was done: write the name {name!r} to confirm")
