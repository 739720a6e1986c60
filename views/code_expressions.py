"""Typed expressions as Python syntax trees: what users wrote never becomes source text.

Each expression has up to three codes: its value (with None for NULL), whether it is true, and whether it is
false.  The last two need no NULL: `a > 1` is not true when `a` is NULL, and not false either, so WHERE is
compiled to plain `and`, `or` and `not`.  Values that are used twice get a name by `:=`.

Names in the code: `row` the decoded record, `cN`, `gN`, `hN` its prepared columns, tags and headers, `tN`
intermediate values, `kN` constants and functions in `Coder.scope`.
"""

from __future__ import annotations

import ast
import operator
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

from views.column_types import INT64_MAX, INT64_MIN, Kind
from views.expressions import Expression

_COMPARISONS: Final[dict[str, tuple[type[ast.cmpop], type[ast.cmpop]]]] = {
    "eq": (ast.Eq, ast.NotEq),
    "ne": (ast.NotEq, ast.Eq),
    "lt": (ast.Lt, ast.GtE),
    "le": (ast.LtE, ast.Gt),
    "gt": (ast.Gt, ast.LtE),
    "ge": (ast.GtE, ast.Lt),
}
_ARITHMETIC: Final[dict[str, type[ast.operator]]] = {
    "add": ast.Add,
    "sub": ast.Sub,
    "mul": ast.Mult,
    "div": ast.Div,
    "bit_and": ast.BitAnd,
    "bit_or": ast.BitOr,
    "bit_xor": ast.BitXor,
}
_IN_PLACE: Final[dict[Any, type[ast.cmpop]]] = {operator.eq: ast.Eq}
_FLOAT_MAX: Final = sys.float_info.max
_BITS: Final = ("bit_and", "bit_or", "bit_xor")
_NEVER_NULL: Final = ("same", "is_null", "is_true", "is_false")

# Python can fold these to constants.
_NEVER_NONE: Final = (ast.BinOp, ast.UnaryOp, ast.Compare)

Code = ast.expr


def name(identifier: str) -> Code:
    """Return the code that reads a variable."""
    return ast.Name(identifier, ast.Load())


def constant(value: Any) -> Code:
    """Return the code of a Python constant."""
    return ast.Constant(value)


def is_none(code: Code) -> Code:
    """Return `code is None`; known results are decided at once, because Python warns about constants here."""
    if isinstance(code, ast.Constant):
        return constant(code.value is None)
    if isinstance(code, _NEVER_NONE):
        return constant(False)
    return ast.Compare(code, [ast.Is()], [constant(None)])


def _is_not_none(code: Code) -> Code:
    if isinstance(code, ast.Constant):
        return constant(code.value is not None)
    if isinstance(code, _NEVER_NONE):
        return constant(True)
    return ast.Compare(code, [ast.IsNot()], [constant(None)])


def _any(codes: Sequence[Code]) -> Code:
    return codes[0] if len(codes) == 1 else ast.BoolOp(ast.Or(), list(codes))


def _all(codes: Sequence[Code]) -> Code:
    return codes[0] if len(codes) == 1 else ast.BoolOp(ast.And(), list(codes))


def _compare(left: Code, op: type[ast.cmpop], right: Code) -> Code:
    return ast.Compare(left, [op()], [right])


class Coder:
    """A writer of one view's expressions as code; `sources` has that of each column, tag and header."""

    def __init__(self, sources: dict[tuple[str, str], Code]) -> None:
        self.sources = sources
        self.scope: dict[str, Any] = {}
        self.named = 0

    def keep(self, value: Any) -> Code:
        """Return the code of any object: a name in the scope of the generated function."""
        for known, other in self.scope.items():
            if other is value:
                return name(known)
        identifier = f"k{len(self.scope)}"
        self.scope[identifier] = value
        return name(identifier)

    def value(self, expression: Expression) -> Code:
        """Return the code of the value, None for NULL."""
        op = expression.op
        if op == "literal":
            return constant(expression.value)
        if (source := self.sources.get((op, str(expression.value)))) is not None:
            return source
        return _VALUES[op](self, expression)

    def true(self, expression: Expression) -> Code:
        """Return code that is truthy exactly when a condition is true."""
        op, args = expression.op, expression.args
        if op == "literal":
            return constant(expression.value is True)
        if op in ("and", "or"):
            return (_all if op == "and" else _any)([self.true(arg) for arg in args])
        if op == "not":
            return self.false(args[0])
        if op in _COMPARISONS:
            checks, (left, right) = self._present(args)
            return _all([*checks, _compare(left, _COMPARISONS[op][0], right)])
        if op == "call":
            checks, codes = self._present(args)
            return _all([*checks, self._call(expression, codes)])
        if op == "in" and (among := _literals(expression)) is not None:
            return _compare(self.value(args[0]), ast.In, constant(among - {None}))
        if op in _NEVER_NULL:
            return self.value(expression)
        return _compare(self.value(expression), ast.Is, constant(True))

    def false(self, expression: Expression) -> Code:
        """Return code that is truthy exactly when a condition is false."""
        op, args = expression.op, expression.args
        if op == "literal":
            return constant(expression.value is False)
        if op in ("and", "or"):
            return (_any if op == "and" else _all)([self.false(arg) for arg in args])
        if op == "not":
            return self.true(args[0])
        if op in _COMPARISONS:
            checks, (left, right) = self._present(args)
            return _all([*checks, _compare(left, _COMPARISONS[op][1], right)])
        if op == "in" and (among := _literals(expression)) is not None:
            if None in among:
                return constant(False)
            checks, (value,) = self._present(args[:1])
            return _all([*checks, _compare(value, ast.NotIn, constant(among))])
        if op in _NEVER_NULL:
            return ast.UnaryOp(ast.Not(), self.value(expression))
        return _compare(self.value(expression), ast.Is, constant(False))

    def named_value(self, code: Code) -> tuple[Code, Code]:
        """Return code that evaluates and names `code`, and code that reads the name."""
        if isinstance(code, (ast.Constant, ast.Name)):
            return code, code
        self.named += 1
        identifier = f"t{self.named}"
        return ast.NamedExpr(ast.Name(identifier, ast.Store()), code), name(identifier)

    def _present(self, args: Sequence[Expression]) -> tuple[list[Code], list[Code]]:
        """Return checks that no argument is NULL, to be evaluated in order, and then the arguments."""
        checks: list[Code] = []
        codes: list[Code] = []
        for arg in args:
            code = self.value(arg)
            if arg.nullable:
                first, code = self.named_value(code)
                checks.append(_is_not_none(first))
            codes.append(code)
        return checks, codes

    def _strict(self, args: Sequence[Expression], build: Callable[..., Code]) -> Code:
        """Return code that is None when an argument is, and otherwise what `build` makes of them."""
        checks: list[Code] = []
        codes: list[Code] = []
        for arg in args:
            code = self.value(arg)
            if arg.nullable:
                first, code = self.named_value(code)
                checks.append(is_none(first))
            codes.append(code)
        built = build(*codes)
        return ast.IfExp(_any(checks), constant(None), built) if checks else built

    def _within(self, code: Code, kind: Kind) -> Code:
        """Return code that is `code` where its kind can hold it, else None; NaN is in no range."""
        low, high = (-_FLOAT_MAX, _FLOAT_MAX) if kind is Kind.DOUBLE else (INT64_MIN, INT64_MAX)
        first, again = self.named_value(code)
        in_range = ast.Compare(constant(low), [ast.LtE(), ast.LtE()], [first, constant(high)])
        return ast.IfExp(in_range, again, constant(None))

    def _call(self, expression: Expression, codes: Sequence[Code]) -> Code:
        if (sign := _IN_PLACE.get(expression.value)) is not None:
            return _compare(codes[0], sign, codes[1])
        if expression.value is operator.contains:
            return _compare(codes[1], ast.In, codes[0])
        return ast.Call(self.keep(expression.value), list(codes), [])

    def call(self, expression: Expression) -> Code:
        """Return a call of a runtime function that is NULL for NULL."""
        return self._strict(expression.args, lambda *codes: self._call(expression, codes))

    def call_nulls(self, expression: Expression) -> Code:
        """Return a call of a runtime function that is given NULL."""
        return self._call(expression, [self.value(arg) for arg in expression.args])

    def comparison(self, expression: Expression) -> Code:
        """Return a comparison that is NULL for NULL."""
        sign = _COMPARISONS[expression.op][0]
        return self._strict(expression.args, lambda left, right: _compare(left, sign, right))

    def same(self, expression: Expression) -> Code:
        """Return a comparison in which NULL is the same as NULL, and as nothing else."""
        left, right = expression.args
        return _compare(self.value(left), ast.Eq, self.value(right))

    def arithmetic(self, expression: Expression) -> Code:
        """Return an operation on numbers that is NULL when the kind cannot hold the result."""
        sign = _ARITHMETIC[expression.op]

        def build(left: Code, right: Code) -> Code:
            code = ast.BinOp(left, sign(), right)
            return code if expression.op in _BITS else self._within(code, expression.type.kind)

        return self._strict(expression.args, build)

    def division(self, expression: Expression) -> Code:
        """Return a quotient, NULL when the divisor is 0."""

        def build(left: Code, right: Code) -> Code:
            first, again = self.named_value(right)
            quotient = self._within(ast.BinOp(left, ast.Div(), again), Kind.DOUBLE)
            return ast.IfExp(_compare(first, ast.Eq, constant(0)), constant(None), quotient)

        return self._strict(expression.args, build)

    def negation(self, expression: Expression) -> Code:
        """Return minus a number."""
        return self._strict(
            expression.args,
            lambda code: self._within(ast.UnaryOp(ast.USub(), code), expression.type.kind),
        )

    def to_double(self, expression: Expression) -> Code:
        """Return an integer as a double."""
        return self._strict(expression.args, lambda code: ast.Call(self.keep(float), [code], []))

    def scaled(self, expression: Expression) -> Code:
        """Return a timestamp in a finer unit."""

        def build(code: Code) -> Code:
            product = ast.BinOp(code, ast.Mult(), constant(expression.value))
            return product if expression.op == "scale" else self._within(product, Kind.INT)

        return self._strict(expression.args, build)

    def conjunction(self, expression: Expression) -> Code:
        """Return AND: false when one is false, else NULL when one is NULL."""
        return self._junction(expression, False)

    def disjunction(self, expression: Expression) -> Code:
        """Return OR: true when one is true, else NULL when one is NULL."""
        return self._junction(expression, True)

    def _junction(self, expression: Expression, decides: bool) -> Code:
        tests: list[Code] = []
        nulls: list[Code] = []
        for arg in expression.args:
            first, again = self.named_value(self.value(arg))
            tests.append(_compare(first, ast.Is, constant(decides)))
            if arg.nullable:
                nulls.append(is_none(again))
        rest: Code = constant(not decides)
        if nulls:
            rest = ast.IfExp(_any(nulls), constant(None), rest)
        return ast.IfExp(_any(tests), constant(decides), rest)

    def inversion(self, expression: Expression) -> Code:
        """Return NOT."""
        return self._strict(expression.args, lambda code: ast.UnaryOp(ast.Not(), code))

    def among(self, expression: Expression) -> Code:
        """Return IN: NULL when the value is, or when it is not found but NULL is in the list."""
        if (among := _literals(expression)) is not None:

            def look_up(value: Code) -> Code:
                found = _compare(value, ast.In, constant(among - {None}))
                return ast.IfExp(found, constant(True), constant(None)) if None in among else found

            return self._strict(expression.args[:1], look_up)
        first, value = self.named_value(self.value(expression.args[0]))
        tests: list[Code] = []
        nulls: list[Code] = []
        for candidate in expression.args[1:]:
            named, again = self.named_value(self.value(candidate))
            tests.append(_compare(value, ast.Eq, named))
            nulls.append(is_none(again))
        unknown = ast.IfExp(_any(nulls), constant(None), constant(False))
        found = ast.IfExp(_any(tests), constant(True), unknown)
        return ast.IfExp(is_none(first), constant(None), found)

    def is_null(self, expression: Expression) -> Code:
        """Return IS NULL."""
        return is_none(self.value(expression.args[0]))

    def is_true(self, expression: Expression) -> Code:
        """Return IS TRUE, as a Python boolean."""
        return _compare(self.value(expression.args[0]), ast.Is, constant(True))

    def is_false(self, expression: Expression) -> Code:
        """Return IS FALSE, as a Python boolean."""
        return _compare(self.value(expression.args[0]), ast.Is, constant(False))

    def case(self, expression: Expression) -> Code:
        """Return CASE: the result of the first condition that is true."""
        code = self.value(expression.args[-1])
        for at in range(len(expression.args) - 3, -1, -2):
            condition, result = expression.args[at], expression.args[at + 1]
            code = ast.IfExp(self.true(condition), self.value(result), code)
        return code

    def coalesce(self, expression: Expression) -> Code:
        """Return the first value that is not NULL."""
        code = self.value(expression.args[-1])
        for arg in reversed(expression.args[:-1]):
            first, again = self.named_value(self.value(arg))
            code = ast.IfExp(_is_not_none(first), again, code)
        return code


def _literals(expression: Expression) -> frozenset[Any] | None:
    """Return the values of an IN list if all of them are constants."""
    if all(candidate.op == "literal" for candidate in expression.args[1:]):
        return frozenset(candidate.value for candidate in expression.args[1:])
    return None


_VALUES: Final[dict[str, Callable[[Coder, Expression], Code]]] = {
    **dict.fromkeys(_COMPARISONS, Coder.comparison),
    **dict.fromkeys(("add", "sub", "mul", *_BITS), Coder.arithmetic),
    "div": Coder.division,
    "neg": Coder.negation,
    "to_double": Coder.to_double,
    "scale": Coder.scaled,
    "scale_checked": Coder.scaled,
    "and": Coder.conjunction,
    "or": Coder.disjunction,
    "not": Coder.inversion,
    "same": Coder.same,
    "in": Coder.among,
    "is_null": Coder.is_null,
    "is_true": Coder.is_true,
    "is_false": Coder.is_false,
    "case": Coder.case,
    "coalesce": Coder.coalesce,
    "call": Coder.call,
    "call_nulls": Coder.call_nulls,
}
