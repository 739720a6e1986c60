"""The tree of typed expressions."""

from __future__ import annotations

from views.column_types import BIGINT, BOOL, NULL
from views.expressions import META_COLUMNS, Expression, literal


def test_a_tree_is_walked_outermost_first_and_left_to_right() -> None:
    one, two = literal(1, BIGINT), literal(2, BIGINT)
    tree = Expression("and", BOOL, (Expression("eq", BOOL, (one, two)), Expression("not", BOOL, (two,))))
    assert [node.op for node in tree.walk()] == ["and", "eq", "literal", "literal", "not", "literal"]


def test_only_the_literal_null_can_be_null() -> None:
    assert literal(None, NULL).nullable
    assert not literal(0, BIGINT).nullable


def test_every_record_has_five_columns() -> None:
    assert {name: str(kind) for name, kind in META_COLUMNS.items()} == {
        "_rowts": "timestamp(ms)",
        "_offset": "bigint",
        "_key": "string",
        "tbname": "string",
        "_partition": "int",
    }
