"""The plan of a view: its expressions with names and types settled, and the schema of its result.

A plan is kept as its statement's text and its schema, both frozen when the view is created: `restore_plan`
makes the same plan from them, whatever columns the source has gained since.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from views.binder import Binder, check_size
from views.bounds import EVERYTHING, Bounds, find_bounds
from views.column_types import BOOL, parse_type
from views.column_types import Kind as ValueKind
from views.columns import Column, Columns
from views.errors import ColumnsProblem, NotAllowed, TypeProblem, UnknownColumn
from views.expressions import Expression, OutputColumn, literal
from views.patterns import program_size
from views.star import Star, columns_left_out
from views.statement import Kind, Projection, Statement, parse_view
from views.text_growth import check_growth, long_passes

SCHEMA_VERSION: Final = 1
# Including those that * stands for; so many take 60 ms to compile.
OUTPUT_COLUMNS_MAX: Final = 1_000
TEXT_BYTES_MAX: Final = 16 << 20
LONG_PASS_WEIGHT: Final = 100
PROGRAM_STEPS: Final = 2
"""The steps of a pattern's program that count as a pass through a text: at worst each takes 8 ns."""
FRAMED_WEIGHT: Final = 50
TAGS_WEIGHT: Final = 10
"""A record may have other tags than its key had: learning them takes 5 to 10 µs."""
_TEXTS: Final = (ValueKind.STRING, ValueKind.JSON)
# As in `text_growth`.
_WITHOUT_PASSES: Final = ("case", "coalesce", "is_null")


@dataclass(frozen=True)
class Plan:
    """The expressions to evaluate for each record of the source.

    `output` is None where the record's own value stays as it is (`SELECT *`, STABLE, DATABASE); `predicate`
    is None where every record belongs to the view.
    """

    statement: Statement
    uses: tuple[Column, ...]
    predicate: Expression | None
    output: tuple[OutputColumn, ...] | None
    bounds: Bounds
    left_out: frozenset[str] = field(default=frozenset(), kw_only=True)
    """The declared columns that the statement's star does not stand for."""
    framed: bool = field(default=False, kw_only=True)
    """Whether the source's values are framed for a schema registry; what stays as it is stays framed."""

    @property
    def used_columns(self) -> frozenset[str]:
        """The names of the declared columns that the view reads; these cannot be dropped or changed."""
        return frozenset(column.name for column in self.uses)

    @property
    def is_identity(self) -> bool:
        """True when every record belongs to the view, unchanged."""
        return self.predicate is None and self.output is None

    @property
    def needs(self) -> frozenset[str]:
        """The parts of a record to be read: value, key, headers, tags, timestamp, offset, partition."""
        roots = [column.expression for column in self.output or ()]
        if self.predicate is not None:
            roots.append(self.predicate)
        found: set[str] = set()
        for root in roots:
            for expression in root.walk():
                found |= _NEEDS.get(expression.op, frozenset())
                if expression.op == "meta":
                    found.add(_META_NEEDS[expression.value])
        return frozenset(found)

    @property
    def weight(self) -> int:
        """The work for each record: 1 for each expression, many for each pass through a long text."""
        roots = self._roots
        decoding = FRAMED_WEIGHT if self.framed else 0
        more = self.program_size // PROGRAM_STEPS + TAGS_WEIGHT * ("tags" in self.needs)
        return decoding + more + sum(root.size for root in roots) + LONG_PASS_WEIGHT * long_passes(roots)

    @property
    def _roots(self) -> list[Expression]:
        roots = [column.expression for column in self.output or ()]
        return roots if self.predicate is None else [*roots, self.predicate]

    @property
    def program_size(self) -> int:
        """The steps of the programs of all patterns."""
        return program_size(self._roots)

    @property
    def record_bytes_max(self) -> int:
        """The largest record that is evaluated: 16 MiB divided by the number of passes through a text.

        At 1 to 3 nanoseconds for a byte, no record holds up others for more than 50 ms.  Patterns take up to
        0.3 s, in a thread if it may be much.
        """
        roots = [column.expression for column in self.output or ()]
        passes = sum(root.type.kind in _TEXTS for root in roots)
        roots += [] if self.predicate is None else [self.predicate]
        for root in roots:
            for node in root.walk():
                passes += node.op not in _WITHOUT_PASSES and any(arg.type.kind in _TEXTS for arg in node.args)
        passes += self.program_size // PROGRAM_STEPS
        return TEXT_BYTES_MAX // max(1, passes)

    @property
    def schema(self) -> dict[str, Any]:
        """The frozen part, as JSON: the result's columns, and the source's columns that are read.

        `columns` is None where values stay as they are; `left_out` is there if a star leaves columns out,
        `framed` if values are framed.
        """
        columns = None
        if self.output is not None:
            columns = [{"name": column.name, "type": str(column.expression.type)} for column in self.output]
        uses = [{"name": column.name, "type": str(column.type), "tag": column.is_tag} for column in self.uses]
        schema: dict[str, Any] = {"version": SCHEMA_VERSION, "columns": columns, "uses": uses}
        if self.left_out:
            schema["left_out"] = sorted(self.left_out)
        return schema | {"framed": True} if self.framed else schema

    def conflicts_with(self, columns: Columns | None) -> list[str]:
        """Return a sentence for each column that the view reads and that `columns` drops or changes."""
        sentences = []
        for used in self.uses:
            now = (
                None
                if columns is None
                else next((column for column in columns if column.name == used.name), None)
            )
            if now is None:
                sentences.append(f"column {used.name!r} would be dropped, but the view reads it")
            elif now != used:
                sentences.append(
                    f"column {used.name!r} would change from '{used}' to '{now}', but the view reads it"
                )
        return sentences


@dataclass(frozen=True)
class UnfitPlan(Plan):
    """A plan for the records that do not fit the columns of `uses`, and that fulfil `where`.

    Evaluated like any other plan, it takes nothing and counts what does not fit: its `predicate` is FALSE.
    `unfit.py` then takes those records out.
    """

    where: Expression | None = None

    def __hash__(self) -> int:
        # The text's hash is computed once; that of the fields would visit a thousand columns every time.
        return hash(self.statement)

    @property
    def needs(self) -> frozenset[str]:
        """The value, and the parts that may carry tags; tags of earlier records do not matter for the fit."""
        has_tags = any(column.is_tag for column in self.uses)
        return frozenset({"value", "key", "headers"} if has_tags else {"value"})


_NEEDS: Final = {
    "column": frozenset({"value"}),
    "tag": frozenset({"value", "key", "headers", "tags"}),
    "header": frozenset({"headers"}),
}
_META_NEEDS: Final = {
    "_rowts": "timestamp",
    "_offset": "offset",
    "_key": "key",
    "tbname": "key",
    "_partition": "partition",
}


def plan_view(statement: Statement, columns: Columns | None, *, framed: bool = False) -> Plan:
    """Settle names and types against the source's declared columns, None when it declares none.

    `framed`: the values are framed for a schema registry.

    Raises: NotAllowed, UnknownColumn, TypeProblem, TooComplex.
    """
    return _plan(statement, columns, columns_left_out(_stars(statement), columns), framed=framed)


def _stars(statement: Statement) -> list[Star]:
    return [projection.star for projection in statement.projections if projection.star is not None]


def _plan(statement: Statement, columns: Columns | None, left_out: frozenset[str], *, framed: bool) -> Plan:
    qualifiers = frozenset(
        filter(None, (statement.source, statement.source.rpartition(".")[2], statement.alias))
    )
    for star in _stars(statement):
        if star.qualifier and star.qualifier not in qualifiers:
            raise UnknownColumn(f"{star.qualifier}.*: {star.qualifier!r} is not the source of this view")
    if statement.kind is Kind.UNFIT:
        if framed:
            raise NotAllowed(
                f"UNFIT judges JSON, and the values of {statement.source!r} are framed for a schema registry;"
                " kawal.schema.validation=registry refuses what does not fit"
            )
        return _plan_unfit(statement, columns, qualifiers)
    binder = Binder(columns, qualifiers, tags_only=statement.kind is Kind.STABLE)
    predicate = None if statement.predicate is None else binder.predicate(statement.predicate)
    output = _output(binder, statement.projections, left_out) if statement.kind is Kind.QUERY else None
    roots = [*(column.expression for column in output or ()), *([predicate] if predicate else [])]
    check_size(sum(root.size for root in roots))
    check_growth(roots)
    used = {
        expression.value for root in roots for expression in root.walk() if expression.op in ("column", "tag")
    }
    uses = tuple(column for column in columns or () if column.name in used)
    bounds = EVERYTHING if predicate is None else find_bounds(predicate)
    plan = Plan(statement, uses, predicate, output, bounds, left_out=left_out)
    return replace(plan, framed=True) if framed and "value" in plan.needs else plan


def _plan_unfit(statement: Statement, columns: Columns | None, qualifiers: frozenset[str]) -> UnfitPlan:
    if columns is None:
        raise NotAllowed(
            f"UNFIT shows what does not fit the declared columns, and {statement.source!r} declares none; set"
            " kawal.columns on it"
        )
    uses = _chosen(statement.columns, columns) if statement.columns else columns.declared
    if len(uses) > OUTPUT_COLUMNS_MAX:
        raise NotAllowed(
            f"{statement.source!r} declares {len(uses)} columns, and UNFIT looks at {OUTPUT_COLUMNS_MAX} at"
            f" most; name those that count, as in UNFIT {statement.source} (a, b)"
        )
    binder = Binder(columns, qualifiers, heads_only=True)
    where = None if statement.predicate is None else binder.predicate(statement.predicate)
    if where is not None:
        check_size(where.size)
        check_growth([where])
    bounds = EVERYTHING if where is None else find_bounds(where)
    return UnfitPlan(statement, uses, literal(False, BOOL), None, bounds, where)


def _chosen(names: tuple[str, ...], columns: Columns) -> tuple[Column, ...]:
    """Return the columns that are named, in the order of their declaration."""
    chosen: set[str] = set()
    for name in names:
        found = columns.find(name)
        if found is None:
            raise UnknownColumn(
                f"column {name!r} is unknown; the source declares {', '.join(columns.names[:20])}"
            )
        if found.name in chosen:
            raise NotAllowed(f"column {name!r} is named twice after UNFIT")
        chosen.add(found.name)
    return tuple(column for column in columns if column.name in chosen)


def restore_plan(text: str, schema: Mapping[str, Any]) -> Plan:
    """Make a plan again from its statement's text and its schema.

    Raises: ViewError if no plan has written them.
    """
    try:
        if schema["version"] != SCHEMA_VERSION:
            raise ColumnsProblem(
                f"the schema has version {schema['version']!r}; only {SCHEMA_VERSION} is known"
            )
        columns = Columns(tuple(_column(stored) for stored in schema["uses"]))
        statement = parse_view(text)
        # Stored before EXCEPT was understood, a schema names no columns.
        written = [name for star in _stars(statement) for name in star.left_out]
        left_out = frozenset(map(str, schema.get("left_out", written)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ColumnsProblem(f"the schema of a view is damaged: {type(error).__name__} {error}") from None
    framed = bool(schema.get("framed"))
    return _plan(statement, columns if columns.declared else None, left_out, framed=framed)


def _column(stored: Mapping[str, Any]) -> Column:
    kind = parse_type(stored["type"])
    if kind is None:
        raise ColumnsProblem(f"the schema of a view has the unknown type {stored['type']!r}")
    return Column(stored["name"], kind, bool(stored["tag"]))


def _output(
    binder: Binder, projections: tuple[Projection, ...], left_out: frozenset[str]
) -> tuple[OutputColumn, ...] | None:
    if len(projections) == 1 and projections[0].star is not None and projections[0].star.keeps_all:
        return None
    output: list[OutputColumn] = []
    for projection in projections:
        if projection.star is None:
            output.append(_one(binder, projection))
        else:
            output += _all_but(binder, frozenset() if projection.star.keeps_all else left_out)
    if len(output) > OUTPUT_COLUMNS_MAX:
        raise NotAllowed(f"the view has {len(output)} columns; at most {OUTPUT_COLUMNS_MAX} are allowed")
    seen: set[str] = set()
    for column in output:
        if column.name in seen:
            raise NotAllowed(f"two columns of the view are called {column.name!r}; rename one with AS")
        seen.add(column.name)
    return tuple(output)


def _all_but(binder: Binder, left_out: frozenset[str]) -> list[OutputColumn]:
    if binder.columns is None:
        raise NotAllowed("* beside other columns needs kawal.columns on the source; * alone needs nothing")
    return [
        OutputColumn(column.name, binder.declared(column.name))
        for column in binder.columns
        if column.name not in left_out
    ]


def _one(binder: Binder, projection: Projection) -> OutputColumn:
    expression = binder.bind(projection.node)
    if expression.type.kind is ValueKind.DURATION:
        raise TypeProblem(
            f"{projection.text} is a duration, which cannot be the value of a column; add it to a timestamp"
        )
    # A bare column is called as it is declared, however the statement spells it.
    is_named = expression.op in ("column", "tag", "meta") and not projection.name
    return OutputColumn(str(expression.value) if is_named else projection.name or projection.text, expression)
