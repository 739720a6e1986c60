"""The star of SELECT: `*`, `source.*`, and the columns that EXCEPT or EXCLUDE leave out of it.

    star := ["source" "."] "*" [("EXCEPT" | "EXCLUDE") ("(" name ("," name)* ")" | name)]

Nothing else may follow: a part that is not understood could be one that hides a column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from views.columns import Columns
from views.errors import NotAllowed, SyntaxProblem, UnknownColumn

_SAID = {
    "replace": "* REPLACE is not possible in a view; leave the column out with EXCEPT, and write the"
    " expression with AS beside the star",
    "rename": "* RENAME is not possible in a view; leave the column out with EXCEPT, and write it with AS"
    " beside the star",
    "ilike": "* ILIKE is not possible in a view; leave columns out by name, as in * EXCEPT (a, b)",
}


@dataclass(frozen=True, slots=True)
class Star:
    """A star as it was written: what stands before its point, "" for nothing, and the names left out."""

    qualifier: str = ""
    left_out: tuple[str, ...] = ()

    @property
    def keeps_all(self) -> bool:
        """Whether no column is left out, so that a view of nothing else shows records as they are."""
        return not self.left_out


def star_of(node: exp.Expr, read: Sequence[Token]) -> Star | None:
    """Return the star that `node` is, read from the tokens `read`; None if it is none.

    Raises: NotAllowed, SyntaxProblem.
    """
    qualifier = ""
    if isinstance(node, exp.Column) and isinstance(node.this, exp.Star):
        qualifier = ".".join(part.name for part in node.parts[:-1])
        node = node.this
    if not isinstance(node, exp.Star):
        return None
    for name, value in node.args.items():
        if value and name != "except_":
            raise NotAllowed(_SAID.get(name, f"* {name.strip('_').upper()} is not possible in a view"))
    left_out = tuple(_name(named) for named in node.args.get("except_") or ())
    if not left_out and read[-1].token_type is not TokenType.STAR:
        raise SyntaxProblem(
            f"what follows * cannot be read near {read[-1].text[:40]!r}; EXCEPT takes names, as in"
            " * EXCEPT (a, b)"
        )
    return Star(qualifier, left_out)


def _name(node: exp.Expr) -> str:
    if not isinstance(node, exp.Column) or len(node.parts) != 1 or isinstance(node.this, exp.Star):
        raise SyntaxProblem(
            f"{node.sql()[:60]!r} after * EXCEPT is not the name of a column; names with characters other"
            " than letters, digits and _ must be in back-quotes"
        )
    return node.name


def columns_left_out(stars: Sequence[Star], columns: Columns | None) -> frozenset[str]:
    """Return the declared columns that a view's stars leave out, as they are declared.

    Raises: NotAllowed, UnknownColumn.
    """
    excepting = [star for star in stars if star.left_out]
    if not excepting:
        return frozenset()
    if len(excepting) > 1:
        raise NotAllowed("EXCEPT is given for two stars; a view has one star that leaves columns out")
    if columns is None:
        raise NotAllowed("* EXCEPT needs kawal.columns on the source: without them no column is known")
    found: set[str] = set()
    for name in excepting[0].left_out:
        column = columns.find(name)
        if column is None:
            known = ", ".join(columns.names[:20])
            raise UnknownColumn(f"column {name!r} after * EXCEPT is unknown; the source declares {known}")
        if column.name in found:
            raise NotAllowed(f"column {name!r} is named twice after * EXCEPT")
        found.add(column.name)
    if len(found) == len(columns.declared):
        raise NotAllowed("* EXCEPT leaves no column; a view has one at least")
    return frozenset(found)
