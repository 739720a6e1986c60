"""A change before it is made."""

from __future__ import annotations

import re

import trio

from console.web.plan import Plan, check_confirmed, plan_view
from console.web.routes import Table
from console.web.visit import Answer, Redirect, Visit, change, get
from tests.console.web.kit import Web

HOSTILE = 'a"><script>\u202e'


def table(problem: str = "") -> Table:
    plan = Plan(
        command=f"kawal topics delete {HOSTILE}",
        action="/do",
        verb="Delete",
        differences=[("retention.ms", "1", "2")],
        effects=["3 records are deleted"],
        fields=[("topic", HOSTILE)],
        confirm=HOSTILE,
        problem=problem,
    )

    async def show(_: Visit) -> Answer:
        await trio.lowlevel.checkpoint()
        return plan_view("Delete", plan)

    async def do(visit: Visit) -> Answer:
        await trio.lowlevel.checkpoint()
        check_confirmed(visit, visit.form.one("topic"))
        return Redirect("/")

    return Table((get("/show", show), change("/do", do)))


def test_it_shows_difference_effects_and_command_and_its_form_carries_exact_values() -> None:
    page = Web(table=table()).get("/show")
    assert "retention.ms 1 2" in page.text
    assert "3 records are deleted" in page.text
    assert "<script>\\u202e" in page.text
    assert "<script>" not in page.html
    assert re.search('name="topic" value="a&#34;&gt;&lt;script&gt;\u202e"', page.html)


def test_a_problem_or_read_only_leaves_no_button() -> None:
    page = Web(table=table("the topic is needed")).get("/show")
    assert page.problem == "the topic is needed"
    assert "<button>Delete" not in page.html
    assert "<button>Delete" not in Web(table=table(), read_only=True).get("/show").html


def test_removing_asks_for_the_name() -> None:
    web = Web(table=table())
    assert web.post("/do", topic="t", confirm="T").status == 400
    assert web.post("/do", topic="t", confirm="t").status == 303
