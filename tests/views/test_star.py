"""Stars: what EXCEPT leaves out is never shown, and what a star cannot have is refused by name."""

from __future__ import annotations

import json

import pytest

from tests.views.rows import make_plan, records, run, values
from views.errors import NotAllowed, SyntaxProblem, UnknownColumn, ViewError
from views.evaluator import build_evaluator
from views.plan import restore_plan

COLUMNS = "id int, secret string, Secret2 int, `odd name` int"
RECORD = {"id": 1, "secret": "s", "Secret2": 2, "odd name": 3, "undeclared": "too"}


@pytest.mark.parametrize(
    ("columns", "shown"),
    [
        ("* EXCEPT (secret)", {"id": 1, "Secret2": 2, "odd name": 3}),
        ("* EXCLUDE (secret, secret2)", {"id": 1, "odd name": 3}),
        ("* EXCLUDE SECRET", {"id": 1, "Secret2": 2, "odd name": 3}),
        ("f.* EXCEPT (`odd name`, secret)", {"id": 1, "Secret2": 2}),
        ("g.* EXCEPT (secret), id + 1 AS next", {"id": 1, "Secret2": 2, "odd name": 3, "next": 2}),
        ("* EXCEPT (secret), LENGTH(secret) AS n", {"id": 1, "Secret2": 2, "odd name": 3, "n": 1}),
        ("id AS first, * except (id)", {"first": 1, "secret": "s", "Secret2": 2, "odd name": 3}),
    ],
)
def test_what_a_star_leaves_out_is_not_shown_also_after_a_restart(
    columns: str, shown: dict[str, object]
) -> None:
    plan = make_plan(f"SELECT {columns} FROM f g WHERE secret = 's'", COLUMNS)
    again = restore_plan(plan.statement.text, json.loads(json.dumps(plan.schema)))
    assert again.schema == plan.schema
    for made in (plan, again):
        assert values(run(build_evaluator(made), records(RECORD))) == [shown]


def test_a_column_that_differs_in_case_from_one_that_is_left_out_is_still_shown_after_a_restart() -> None:
    plan = make_plan("SELECT * EXCEPT (a) FROM f", "a int, A int")
    again = restore_plan(plan.statement.text, plan.schema)
    assert values(run(build_evaluator(again), records({"a": 1, "A": 2}))) == [{"A": 2}]


def test_a_view_stored_before_except_was_understood_hides_what_it_names() -> None:
    schema = make_plan("SELECT * FROM f WHERE id > 0 AND secret = 's'", COLUMNS).schema
    again = restore_plan("SELECT * EXCEPT (secret) FROM f WHERE id > 0 AND secret = 's'", schema)
    assert values(run(build_evaluator(again), records(RECORD))) == [{"id": 1}]


def test_a_column_that_is_left_out_is_not_read() -> None:
    plan = make_plan("SELECT * EXCEPT (secret) FROM f", COLUMNS)
    assert plan.used_columns == {"id", "Secret2", "odd name"}
    assert values(run(build_evaluator(plan), records(RECORD | {"secret": ["no text"]}))) != []


REFUSED: dict[str, tuple[type[ViewError], str]] = {
    "* REPLACE ('x' AS secret)": (NotAllowed, r"\* REPLACE is not possible in a view; leave the column out"),
    "* EXCEPT (id) REPLACE ('x' AS secret)": (NotAllowed, r"\* REPLACE is not possible"),
    "* RENAME (secret AS s)": (NotAllowed, r"\* RENAME is not possible"),
    "f.* RENAME (secret AS s)": (NotAllowed, r"\* RENAME is not possible"),
    "* ILIKE 's%'": (NotAllowed, r"\* ILIKE is not possible"),
    "* EXCEPT ()": (SyntaxProblem, r"what follows \* cannot be read near '\)'"),
    "* EXCEPT (f.secret)": (SyntaxProblem, r"'f.secret' after \* EXCEPT is not the name of a column"),
    "* EXCEPT (secret AS s)": (SyntaxProblem, "is not the name of a column"),
    "* EXCEPT ('secret')": (SyntaxProblem, "is not the name of a column"),
    "* EXCEPT (secret + 1)": (SyntaxProblem, "is not the name of a column"),
    "* EXCEPT (nothing)": (UnknownColumn, "'nothing' after .* is unknown; the source declares id"),
    "* EXCEPT (_key)": (UnknownColumn, "column '_key' after"),
    "* EXCEPT (id, ID)": (NotAllowed, "column 'ID' is named twice"),
    "* EXCEPT (id, secret, secret2, `odd name`)": (NotAllowed, "leaves no column"),
    "* EXCEPT (id), * EXCEPT (secret)": (NotAllowed, "EXCEPT is given for two stars"),
    "* EXCEPT (secret) AS all_of_it": (NotAllowed, "only as a column of its own"),
    "* AS all_of_it": (NotAllowed, "only as a column of its own"),
    "g.*": (UnknownColumn, r"g\.\*: 'g' is not the source of this view"),
    "g.* EXCEPT (secret)": (UnknownColumn, r"g\.\*: 'g' is not the source"),
    "x.f.*": (UnknownColumn, r"x\.f\.\*: 'x\.f' is not the source"),
    "id, g.*": (UnknownColumn, r"g\.\*: 'g' is not the source"),
}


@pytest.mark.parametrize(("columns", "refusal"), REFUSED.items())
def test_what_a_star_cannot_have_is_refused_by_its_name(
    columns: str, refusal: tuple[type[ViewError], str]
) -> None:
    error, words = refusal
    with pytest.raises(error, match=words):
        make_plan(f"SELECT {columns} FROM f", COLUMNS)


def test_a_star_leaves_columns_out_only_if_they_are_declared() -> None:
    with pytest.raises(NotAllowed, match=r"EXCEPT needs kawal\.columns"):
        make_plan("SELECT * EXCEPT (secret) FROM f", None)
