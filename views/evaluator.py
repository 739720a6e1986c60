"""Compiled plans: a msgspec decoder for just the columns that the plan reads, and generated code around it.

A record's value must be a JSON object in UTF-8, whose members have the types of the declared columns that the
view reads, or are null or missing (both NULL).  A member named twice counts with its last value.  Anything
else makes the record unfit, even where the predicate would not have looked at it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, Final

import msgspec

from views.code_compile import compile_function
from views.code_expressions import Coder, constant, name
from views.code_scan import row_scan_source, scan_source
from views.column_types import INT64_MAX, INT64_MIN, Kind, Type
from views.compiled_size import compiled_bytes
from views.expressions import Expression
from views.plan import Plan
from views.row_types import row_type
from views.runtime_json import NULL_TEXT
from views.tags import header_reader, header_text
from views.timestamps import parse_timestamp

_ESCAPED: Final = re.compile(r'["\\\x00-\x1f]')
_INT64 = Annotated[int, msgspec.Meta(ge=INT64_MIN, le=INT64_MAX)]


FIRST_EXPRESSIONS: Final = 1_000

SLOW_STEPS: Final = 1_250_000
"""The steps of patterns, of all bytes of a batch, that take 10 ms at worst."""


@dataclass(frozen=True)
class Evaluator:
    """A compiled plan; it has no state, and can be used for any number of partitions.

    It is freed with the last reference to it, without a collection, but for the types of its rows
    (row_types.py).
    """

    plan: Plan
    scan: Callable[..., None] | None
    """The loop over a batch's records (`code_scan`); None when the plan keeps everything."""
    record_bytes_max: int
    first_records: int
    """The most records that may be evaluated before a clock has told how long one takes."""
    program_size: int = 0
    """The steps of the programs of all patterns, each of which may take 8 ns for each byte."""
    size_bytes: int = 0
    """The memory that it takes, about, with its plan and all that is made of it."""
    made: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What is compiled of the plan when it is first needed, such as the judge of unfit records."""

    def may_be_slow(self, size_bytes: int) -> bool:
        """Whether patterns may take long for records of so many bytes together."""
        return size_bytes * self.program_size > SLOW_STEPS


def first_records(weight: int) -> int:
    """Return the number of records to begin with: an expression may take some 20 µs."""
    return max(1, FIRST_EXPRESSIONS // max(1, weight))


def build_evaluator(plan: Plan) -> Evaluator:
    """Compile `plan`; takes about 2 ms."""
    scan = (
        None
        if plan.is_identity
        else LoopCompiler(plan).build("scan", partial(scan_source, record_bytes_max=plan.record_bytes_max))
    )
    return Evaluator(
        plan,
        scan,
        plan.record_bytes_max,
        first_records(plan.weight),
        program_size=plan.program_size,
        size_bytes=compiled_bytes(plan),
    )


def build_row_scan(plan: Plan) -> Callable[..., int]:
    """Compile `plan` for rows in columns, as `arrow.py` has them; it must not keep everything."""
    return LoopCompiler(plan).build("scan_rows", row_scan_source)


class LoopCompiler:
    """A compiler of the loop over records, or rows, for one plan."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.roots = [column.expression for column in plan.output or ()]
        if plan.predicate is not None:
            self.roots.append(plan.predicate)
        self.loads: list[str] = []
        self.sources: dict[tuple[str, str], ast.expr] = {}
        self.scope: dict[str, Any] = {}

    def build(self, function: str, write: Callable[..., str]) -> Callable[..., Any]:
        """Return the loop whose text `write` makes."""
        needs = self.plan.needs
        self._columns()
        self._meta()
        coder = Coder(self.sources)
        codes: dict[str, ast.expr] = {}
        if self.plan.predicate is not None:
            codes["PREDICATE"] = coder.true(self.plan.predicate)
        if self.plan.output is not None:
            codes["VALUE"] = self.value(coder)
        source = write(
            needs,
            loads=self.loads,
            decodes="value" in needs,
            filters=self.plan.predicate is not None,
            projects=self.plan.output is not None,
            framed=self.plan.framed,
        )
        return compile_function(source, codes, {**self.scope, **coder.scope}, function)

    def _columns(self) -> None:
        """Declare the struct of the columns that are read, and prepare those that are used in other forms."""
        fields: list[tuple[str, Any, Any]] = []
        rename: dict[str, str] = {}
        tags: list[tuple[str, Type, str]] = []
        for at, column in enumerate(self.plan.uses):
            field, default = f"f{at}", msgspec.Raw(NULL_TEXT) if column.type.kind is Kind.JSON else None
            fields.append((field, field_type(column.type), default))
            rename[field] = column.name
            code: ast.expr = ast.Attribute(name("row"), field, ast.Load())
            if (load := self._load(field, column.type)) is not None:
                self.loads.append(load)
                code = name(f"c{at}")
            if column.is_tag:
                tags.append((column.name, column.type, ast.unparse(code)))
            else:
                self.sources["column", column.name] = code
        row = row_type("Row", fields, rename, tuple(column.type for column in self.plan.uses))
        self.scope.update(EMPTY=row(), decode=msgspec.json.Decoder(row).decode)
        if tags:
            self._tags(tags)

    def _load(self, field: str, kind: Type) -> str | None:
        local = field.replace("f", "c", 1)
        if kind.kind is Kind.JSON:
            self.scope["NULL_TEXT"] = NULL_TEXT
            return f"{local} = None if ({local} := bytes(row.{field})) == NULL_TEXT else {local}"
        if kind.kind is Kind.TIMESTAMP:
            self.scope[f"read_{field}"] = timestamp_reader(kind)
            return (
                f"{local} = read_{field}({local}) if ({local} := row.{field}).__class__ is str else {local}"
            )
        return None

    def _tags(self, tags: list[tuple[str, Type, str]]) -> None:
        self.scope["TAG_READERS"] = [(tag, header_reader(tag, kind)) for tag, kind, _ in tags]
        own = "".join(f"{code}, " for _, _, code in tags)
        locals_ = "".join(f"g{at}, " for at in range(len(tags)))
        self.loads += [
            "known = tags.by_key.get(key)",
            f"{locals_}= {own}",
            f"if headers or known is None or {' or '.join(map(_differs, range(len(tags))))}:",
            f"    {locals_}= tags.resolve(TAG_READERS, key, headers, ({locals_}))",
        ]
        for at, (tag, _, _) in enumerate(tags):
            self.scope[f"TAG_{at}"] = tag
            self.sources["tag", tag] = name(f"g{at}")

    def _meta(self) -> None:
        if "key" in self.plan.needs:
            self.scope["key_text"] = _key_text
            self.loads.append("key_as_text = key_text(key)")
            self.sources["meta", "_key"] = self.sources["meta", "tbname"] = name("key_as_text")
        self.sources["meta", "_rowts"] = name("rowts")
        self.sources["meta", "_offset"] = name("offset")
        self.sources["meta", "_partition"] = name("partition")
        headers: dict[str, None] = {}
        for root in self.roots:
            headers |= {node.value: None for node in root.walk() if node.op == "header"}
        for at, header in enumerate(headers):
            self.scope.update({"header_text": header_text, f"HEADER_{at}": header})
            self.loads.append(f"h{at} = header_text(headers, HEADER_{at}) if headers else None")
            self.sources["header", header] = name(f"h{at}")

    def value(self, coder: Coder) -> ast.expr:
        """Return the code that makes the result, whose members are encoded in order."""
        fields: list[tuple[str, Any, Any]] = []
        rename: dict[str, str] = {}
        values: list[ast.expr] = []
        for at, column in enumerate(self.plan.output or ()):
            fields.append((f"f{at}", Any, msgspec.NODEFAULT))
            rename[f"f{at}"] = column.name
            values.append(_encodable(coder, column.expression))
        self.scope.update(encode=msgspec.json.Encoder().encode)
        if any(map(_ESCAPED.search, rename.values())):
            # A struct's names cannot be escaped; a dict takes a fifth longer.
            return ast.Dict([constant(member) for member in rename.values()], values)
        result = row_type("Result", fields, rename, None)
        return ast.Call(coder.keep(result), values, [])


def _differs(at: int) -> str:
    return f"g{at} is None or known.get(TAG_{at}) != g{at}"


def _encodable(coder: Coder, expression: Expression) -> ast.expr:
    code = coder.value(expression)
    if expression.type.kind is not Kind.JSON:
        return code
    first, again = coder.named_value(code)
    raw = ast.Call(coder.keep(msgspec.Raw), [again], [])
    return ast.IfExp(ast.Compare(first, [ast.Is()], [constant(None)]), constant(None), raw)


def field_type(kind: Type) -> Any:
    """Return the type, for msgspec, of the JSON values that fit a column; None is NULL."""
    if kind.kind is Kind.INT:
        return Annotated[int, msgspec.Meta(ge=kind.low, le=kind.high)] | None
    if kind.kind is Kind.TIMESTAMP:
        return _INT64 | str | None
    if kind.kind is Kind.STRING:
        return (str if kind.length is None else Annotated[str, msgspec.Meta(max_length=kind.length)]) | None
    return _FIELD_TYPES[kind.kind]


_FIELD_TYPES: Final[dict[Kind, Any]] = {
    Kind.BOOL: bool | None,
    Kind.DOUBLE: float | None,
    Kind.JSON: msgspec.Raw,
}


def timestamp_reader(kind: Type) -> Callable[[str], int]:
    """Return the reader of timestamps given as text; it raises ValueError for other text."""
    unit_ns = kind.unit_ns

    def read(text: str) -> int:
        value = parse_timestamp(text, unit_ns)
        if value is None:
            raise ValueError("no timestamp")
        return value

    return read


def _key_text(key: bytes | None) -> str | None:
    if key is None:
        return None
    try:
        return key.decode()
    except UnicodeDecodeError:
        return None
