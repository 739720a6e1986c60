"""The table of all that may stand in an expression: the node of sqlglot, how it is bound, and its parts.

What is not listed is refused by name, and so is a listed node with another part (binder.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Protocol

from sqlglot import exp

from views import operators
from views.column_types import BIGINT, BOOL, DOUBLE, INT64_MAX, JSON, NULL, STRING, length_hint, parse_type
from views.errors import NotAllowed, SyntaxProblem, TypeProblem
from views.expressions import Expression, literal
from views.functions import call_function, check_known
from views.patterns import like_expression, match_expression
from views.refusals import CLOCK, clock_refusal, shown


class Binder(Protocol):
    """The binder of a statement, as far as a node needs it for what stands inside."""

    def bind(self, node: exp.Expr) -> Expression:
        """Bind `node` and everything inside it."""

    def column(self, node: exp.Column) -> Expression:
        """Bind a name."""

    def many(self, nodes: list[exp.Expr]) -> list[Expression]:
        """Bind several nodes."""

    def pattern(self, like: Callable[..., Expression], *args: Any) -> Expression:
        """Return LIKE or MATCH, and count it."""

    def condition(self, node: exp.Expr, where: str) -> Expression:
        """Bind a node that must be true or false."""


def _paren(binder: Binder, node: exp.Expr) -> Expression:
    return binder.bind(node.this)


def _literal(binder: Binder, node: exp.Expr) -> Expression:
    text = node.this
    if node.is_string:
        return literal(text, STRING)
    if text.isdigit():
        number = int(text) if len(text) <= 19 else INT64_MAX + 1
        if number > INT64_MAX:
            raise TypeProblem(f"{text[:40]} is larger than a bigint can be")
        return literal(number, BIGINT)
    try:
        return literal(operators.finite(float(text)), DOUBLE)
    except ValueError:
        raise SyntaxProblem(f"{text[:40]!r} is not a valid double") from None


def _hexadecimal(binder: Binder, node: exp.Expr) -> Expression:
    digits = node.this
    if not re.fullmatch(r"[0-9A-Fa-f]{1,100}", digits):
        raise SyntaxProblem(f"0x{digits[:40]} is not a number in hexadecimal digits")
    if int(digits, 16) > INT64_MAX:
        raise TypeProblem(f"0x{digits[:40]} is larger than a bigint can be")
    return literal(int(digits, 16), BIGINT)


def _negation(binder: Binder, node: exp.Expr) -> Expression:
    inner = node.this
    if isinstance(inner, exp.Literal) and inner.this == str(INT64_MAX + 1):
        return literal(-INT64_MAX - 1, BIGINT)
    return operators.negate(binder.bind(inner))


def _chain(op: str) -> Callable[[Binder, exp.Expr], Expression]:
    def bind(binder: Binder, node: exp.Expr) -> Expression:
        """Bind a run of the same operator as one: a thousand ANDs are not a thousand levels."""
        kind, pending, found = type(node), [node], []
        while pending:
            operand = pending.pop()
            if isinstance(operand, kind):
                pending += [operand.expression, operand.this]
            elif isinstance(operand, exp.Paren) and isinstance(operand.this, kind):
                pending.append(operand.this)
            else:
                found.append(binder.condition(operand, op.upper()))
        return Expression(op, BOOL, tuple(found), nullable=any(condition.nullable for condition in found))

    return bind


def _binary(combine: Callable[[str, Expression, Expression], Expression], op: str) -> Any:
    return lambda binder, node: combine(op, binder.bind(node.this), binder.bind(node.expression))


def _not(binder: Binder, node: exp.Expr) -> Expression:
    return operators.invert(binder.condition(node.this, "NOT"))


def _between(binder: Binder, node: exp.Expr) -> Expression:
    value = binder.bind(node.this)
    low, high = binder.bind(node.args["low"]), binder.bind(node.args["high"])
    return operators.both(operators.compare("ge", value, low), operators.compare("le", value, high))


def _in(binder: Binder, node: exp.Expr) -> Expression:
    if not node.expressions:
        raise NotAllowed(f"{shown(node)}: IN takes a list of values, not a sub-query, in a view")
    return operators.among(binder.bind(node.this), binder.many(node.expressions))


def _is(binder: Binder, node: exp.Expr) -> Expression:
    value, what = binder.bind(node.this), node.expression
    if isinstance(what, exp.Null):
        return Expression("is_null", BOOL, (value,), nullable=False)
    if isinstance(what, exp.Boolean):
        op = "is_true" if what.this else "is_false"
        return Expression(op, BOOL, (operators.as_condition(value, "IS"),), nullable=False)
    raise NotAllowed(f"{shown(node)}: IS takes NULL, TRUE or FALSE in a view")


def _like(ignore_case: bool) -> Callable[[Binder, exp.Expr], Expression]:
    def bind(binder: Binder, node: exp.Expr) -> Expression:
        value, pattern = binder.bind(node.this), binder.bind(node.expression)
        found = binder.pattern(like_expression, value, pattern, "\\", ignore_case)
        return operators.invert(found) if node.args.get("negate") else found

    return bind


def _escape(binder: Binder, node: exp.Expr) -> Expression:
    like, escape = node.this, binder.bind(node.expression)
    if not isinstance(like, (exp.Like, exp.ILike)):
        raise NotAllowed("ESCAPE belongs to LIKE")
    if escape.op != "literal" or not isinstance(escape.value, str) or len(escape.value) != 1:
        raise TypeProblem("ESCAPE takes one character")
    value, pattern = binder.bind(like.this), binder.bind(like.expression)
    found = binder.pattern(like_expression, value, pattern, escape.value, isinstance(like, exp.ILike))
    return operators.invert(found) if like.args.get("negate") else found


def _match(binder: Binder, node: exp.Expr) -> Expression:
    found = binder.pattern(match_expression, binder.bind(node.this), binder.bind(node.expression))
    return operators.invert(found) if isinstance(node, exp.RegexpILike) else found


def _case(binder: Binder, node: exp.Expr) -> Expression:
    operand = None if node.this is None else binder.bind(node.this)
    branches: list[tuple[Expression, Expression]] = []
    for branch in node.args["ifs"]:
        if operand is None:
            condition = binder.condition(branch.this, "WHEN")
        else:
            condition = operators.compare("eq", operand, binder.bind(branch.this))
        branches.append((condition, binder.bind(branch.args["true"])))
    default = node.args.get("default")
    return operators.case(branches, literal(None, NULL) if default is None else binder.bind(default))


def _cast(binder: Binder, node: exp.Expr) -> Expression:
    name = node.args["to"].sql().lower()
    # sqlglot writes NCHAR as CHAR.
    name = f"n{name}" if name.startswith("char(") else name
    target = parse_type(_SQL_TYPES.get(name, name))
    if target is None or target is JSON:
        hint = length_hint(name) or "is not possible in a view"
        raise NotAllowed(f"{shown(node)}: CAST to {name} {hint}")
    return operators.cast(binder.bind(node.this), target)


def _member(binder: Binder, node: exp.Expr) -> Expression:
    return operators.member(binder.bind(node.this), binder.bind(node.expression))


def _contains(binder: Binder, node: exp.Expr) -> Expression:
    return operators.has_member(binder.bind(node.this), binder.bind(node.expression))


def _concat(binder: Binder, node: exp.Expr) -> Expression:
    return call_function("concat", [binder.bind(node.this), binder.bind(node.expression)])


def _function(binder: Binder, node: exp.Expr) -> Expression:
    name = str(node.this).lower()
    if name in CLOCK:
        raise NotAllowed(clock_refusal(name))
    check_known(name)
    return call_function(name, binder.many(node.expressions))


# sqlglot's names of the types that have another name in `column_types`.
_SQL_TYPES: Final = {
    "utinyint": "tinyint unsigned",
    "usmallint": "smallint unsigned",
    "uint": "int unsigned",
    "ubigint": "bigint unsigned",
    "char": "string",
    "datetime": "timestamp",
    "timestamptz": "timestamp",
}

_TWO = frozenset({"this", "expression"})
_ONE = frozenset({"this"})
Binding = tuple[Callable[[Binder, Any], Expression], frozenset[str]]
"""The function that binds a node, and the parts that the node may have."""

BINDINGS: Final[dict[type, Binding]] = {
    exp.Column: (lambda binder, node: binder.column(node), frozenset({"this", "table", "db", "catalog"})),
    exp.Literal: (_literal, frozenset({"this", "is_string"})),
    exp.HexString: (_hexadecimal, _ONE),
    exp.Null: (lambda binder, node: literal(None, NULL), frozenset()),
    exp.Boolean: (lambda binder, node: literal(bool(node.this), BOOL), _ONE),
    exp.Paren: (_paren, _ONE),
    exp.Neg: (_negation, _ONE),
    exp.And: (_chain("and"), _TWO),
    exp.Or: (_chain("or"), _TWO),
    exp.Not: (_not, _ONE),
    exp.EQ: (_binary(operators.compare, "eq"), _TWO),
    exp.NEQ: (_binary(operators.compare, "ne"), _TWO),
    exp.LT: (_binary(operators.compare, "lt"), _TWO),
    exp.LTE: (_binary(operators.compare, "le"), _TWO),
    exp.GT: (_binary(operators.compare, "gt"), _TWO),
    exp.GTE: (_binary(operators.compare, "ge"), _TWO),
    exp.NullSafeEQ: (_binary(operators.compare, "same"), _TWO),
    exp.NullSafeNEQ: (_binary(operators.compare, "differs"), _TWO),
    exp.Add: (_binary(operators.arithmetic, "add"), _TWO),
    exp.Sub: (_binary(operators.arithmetic, "sub"), _TWO),
    exp.Mul: (_binary(operators.arithmetic, "mul"), _TWO),
    exp.Div: (_binary(operators.arithmetic, "div"), _TWO),
    exp.IntDiv: (_binary(operators.arithmetic, "idiv"), _TWO),
    exp.Mod: (_binary(operators.arithmetic, "mod"), _TWO),
    exp.BitwiseAnd: (_binary(operators.bits, "bit_and"), _TWO),
    exp.BitwiseOr: (_binary(operators.bits, "bit_or"), _TWO),
    exp.BitwiseXor: (_binary(operators.bits, "bit_xor"), _TWO),
    exp.Between: (_between, frozenset({"this", "low", "high"})),
    exp.In: (_in, frozenset({"this", "expressions"})),
    exp.Is: (_is, _TWO),
    exp.Like: (_like(False), _TWO | {"negate"}),
    exp.ILike: (_like(True), _TWO | {"negate"}),
    exp.Escape: (_escape, _TWO),
    exp.RegexpLike: (_match, _TWO),
    exp.RegexpILike: (_match, _TWO),
    exp.Case: (_case, frozenset({"this", "ifs", "default"})),
    exp.Cast: (_cast, frozenset({"this", "to"})),
    exp.JSONExtract: (_member, _TWO),
    exp.Overlaps: (_contains, _TWO),
    exp.DPipe: (_concat, _TWO | {"safe"}),
    exp.Anonymous: (_function, frozenset({"this", "expressions"})),
}
