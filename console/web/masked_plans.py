"""Masks and statements: what a statement must not look at, and what of its result is masked."""

from __future__ import annotations

from console.web.errors import PageError
from console.web.masks import EVERYTHING, TopicMask
from views.expressions import Expression
from views.plan import Plan, UnfitPlan
from views.statement import Kind

_KEYS = ("_key", "tbname")


def masked_part(expression: Expression, mask: TopicMask) -> str:
    """Return the name of something masked that an expression looks at, "" if there is none."""
    for node in expression.walk():
        name = str(node.value)
        if node.op in ("column", "tag") and mask.hides_column(name):
            return name
        if node.op == "meta" and name in _KEYS and mask.key:
            return name
        if node.op == "header" and mask.hides_header(name):
            return f"header('{name}')"
    return ""


def refuse_masked(plan: Plan, mask: TopicMask) -> None:
    """Raise PageError for a plan that looks at what is masked: what it finds would tell it."""
    roots = [column.expression for column in plan.output or ()]
    roots += [] if plan.predicate is None else [plan.predicate]
    if isinstance(plan, UnfitPlan) and plan.where is not None:
        roots.append(plan.where)
    for root in roots if mask else ():
        if name := masked_part(root, mask):
            raise PageError(403, f"{name} is masked in this console: no search and no view may look at it")


def mask_of_view(plan: Plan, mask: TopicMask) -> TopicMask:
    """Return what is masked of a view whose source has this mask."""
    if not mask:
        return mask
    if plan.statement.kind is Kind.UNFIT:
        # The header with the reason quotes the value.
        return TopicMask(mask.key, mask.value, mask.headers or bool(mask.columns) or mask.value, mask.columns)
    if plan.predicate is not None and masked_part(plan.predicate, mask):
        return EVERYTHING  # that a record is in it says what is masked
    if plan.output is None:
        return mask
    hidden = {column.name.casefold() for column in plan.output if masked_part(column.expression, mask)}
    return TopicMask(mask.key, False, mask.headers, mask.columns | hidden)
