"""The writer of generated decoders' source; see `compiled.py`.

Variables in the source: `data` the input (a memoryview), `p` the position, `end` the input's size, `left` how
many elements the message may still hold, `n` the length or count just read, `q` the end of a value. `p` only
moves once the bytes there have been read, so that it is the position to report in a complaint.
"""

from __future__ import annotations

import struct
from itertools import repeat
from typing import Any

from protocol import primitives, schema
from protocol.compiled import Code, locate
from protocol.layout import Field, Layout, element_field, least_size_bytes
from protocol.primitives import STRING_SIZE_MAX
from protocol.schema import NO_TAGS, ArrayOf, Fixed, Kind, WireField

_SCOPE = {
    "NO_TAGS": NO_TAGS,
    "bad_count": primitives.bad_count,
    "bad_length": primitives.bad_length,
    "bad_presence": primitives.bad_presence,
    "bad_string": primitives.bad_string,
    "locate": locate,
    "new": object.__new__,
    "read_tags": primitives.read_tags,
    "read_uvarint": primitives.read_uvarint,
    "repeat": repeat,
    "struct": struct,
    "too_many": primitives.too_many,
    "uuid_of": primitives.uuid_of,
}

_LITERALS = (bool, int, float, str, bytes, type(None))


class DecoderSource:
    """The writer of one layout's decoder."""

    def __init__(self, root: Layout, elements_max: int) -> None:
        self.root = root
        self.elements_max = elements_max
        self.code = Code()
        self.code.scope.update(_SCOPE, LINES=self.code.fields_of_line)
        self.readers: list[tuple[str, Field, str]] = []
        # The run: fixed-width fields still to be read.
        self.formats: list[str] = []
        self.targets: list[str] = []
        self.fields: list[tuple[str, int]] = []
        self.then: list[str] = []

    def build(self, title: str) -> Any:
        """Write everything and return the decoder."""
        path = self.root.cls.__name__
        with self.code.block("def decode(data, p):"):
            self.code.line("if data.__class__ is not memoryview: data = memoryview(data)")
            self.code.line("end = len(data)")
            self.code.line(f"left = {self.elements_max}")
            with self._guarded():
                self._struct(self.root, "message", path)
                self._read_run()
            self._complain()
            self.code.line("return message, p")
        # The list grows while tagged structs have tagged fields themselves.
        for name, field, field_path in self.readers:
            self._reader(name, field, field_path)
        return self.code.build("decode", title)

    def _guarded(self) -> Any:
        return self.code.block("try:")

    def _complain(self) -> None:
        with self.code.block("except (struct.error, IndexError, UnicodeDecodeError) as error:"):
            self.code.line("raise locate(error, LINES, p, end) from error")

    def _reader(self, name: str, field: Field, path: str) -> None:
        """Write the function that reads the value of a tagged field."""
        with self.code.block(f"def {name}(data, p, left):"):
            self.code.line("end = len(data)")
            with self._guarded():
                self._value(field, "value", path)
                self._read_run()
            self._complain()
            self.code.line("return value, p, left")

    # --- runs of fixed width --------------------------------------------------------------------------------

    def _add(self, format_: str, size_bytes: int, target: str, path: str) -> None:
        self.formats.append(format_)
        self.targets.append(target)
        self.fields.append((path, size_bytes))

    def _read_run(self) -> None:
        """Write the line that reads all pending fields."""
        if self.formats:
            size = sum(size_bytes for _, size_bytes in self.fields)
            if self.formats == ["B"]:
                self.code.line(f"{self.targets[0]} = data[p]", self.fields)
            else:
                unpack = self.code.unpack("".join(self.formats))
                self.code.line(f"{', '.join(self.targets)}, = {unpack}(data, p)", self.fields)
            self.code.line(f"p += {size}")
        for line in self.then:
            self.code.line(line)
        self.formats, self.targets, self.fields, self.then = [], [], [], []

    def _read_length(self, length_format: str, path: str) -> None:
        """Write lines that read the run, and a length into `n` (in flexible versions still one too large)."""
        if not self.root.flexible:
            self._add(length_format, struct.calcsize(f">{length_format}"), "n", path)
            self._read_run()
            return
        self._add("B", 1, "n", path)
        self._read_run()
        self.code.line(f"if n > 127: n, p = read_uvarint(data, p - 1, {path!r})")

    # --- values ---------------------------------------------------------------------------------------------

    def _struct(self, found: Layout, target: str, path: str) -> None:
        cls = self.code.refer("cls", found.cls)
        self.code.line(f"{target} = new({cls})")
        unread: tuple[Field | WireField, ...] = (*found.absent, *found.tagged)
        for left_out in unread:
            self.code.line(f"{target}.{left_out.name} = {self._default(left_out.default)}")
        self.code.line(f"{target}.unknown_tags = NO_TAGS")
        for field in found.plain:
            self._value(field, f"{target}.{field.name}", f"{path}.{field.name}")
        if found.flexible:
            self._tags(found, target, path)

    def _default(self, value: Any) -> str:
        if isinstance(value, list):
            return "[]"
        return repr(value) if type(value) in _LITERALS else self.code.refer("default", value)

    def _tags(self, found: Layout, target: str, path: str) -> None:
        known = {}
        for field in found.tagged:
            name = self.code.fresh("read")
            self.readers.append((name, field, f"{path}.{field.name}"))
            known[field.tag] = (field.name, _Later(self.code.scope, name))
        tags = f"{path}.unknown_tags"
        self._add("B", 1, "n", tags)
        self._read_run()
        with self.code.block("if n:"):
            self.code.line(f"if n > 127: n, p = read_uvarint(data, p - 1, {tags!r})")
            self.code.line(
                f"p, left = read_tags(data, p, n, left, target={target}, path={path!r}, "
                f"known={self.code.refer('known', known)}, elements_max={self.elements_max})"
            )

    def _value(self, field: Field, target: str, path: str) -> None:
        """Write lines that read one value into `target`, or add it to the run."""
        kind = field.kind
        if kind is schema.Uuid:
            raw = self.code.fresh("raw")
            self._add("16s", 16, raw, path)
            self.then.append(f"{target} = uuid_of({raw})")
        elif isinstance(kind, Fixed):
            self._add(kind.format, kind.size_bytes, target, path)
        elif isinstance(kind, type):
            self._nested(field, target, path)
        elif isinstance(kind, ArrayOf):
            self._array(field, target, path)
        else:
            self._sized(kind, field, target, path)

    def _nested(self, field: Field, target: str, path: str) -> None:
        assert field.layout is not None
        name = self.code.fresh("o")
        if not field.nullable:
            self._struct(field.layout, name, path)
            self.then.append(f"{target} = {name}")
            self._read_run()
            return
        self._read_run()
        unpack = self.code.unpack("b")
        self.code.line(f"n, = {unpack}(data, p)", [(path, 1)])
        with self.code.block("if n == 1:"):
            self.code.line("p += 1")
            self._struct(field.layout, name, path)
            self._read_run()
            self.code.line(f"{target} = {name}")
        with self.code.block("elif n == -1:"):
            self.code.line("p += 1")
            self.code.line(f"{target} = None")
        with self.code.block("else:"):
            self.code.line(f"raise bad_presence(p, {path!r}, n)")

    def _sized(self, kind: Kind, field: Field, target: str, path: str) -> None:
        """Write lines that read a string, bytes or records, which are alike once `n` is the length."""
        self._read_length(kind.length_format, path)  # type: ignore[union-attr]
        if self.root.flexible:
            self.code.line("n -= 1")
        self._null_or(field, target, lambda: self._content(kind, target, path))

    def _null_or(self, field: Field, target: str, otherwise: Any) -> None:
        if not field.nullable:
            otherwise()
            return
        with self.code.block("if n == -1:"):
            self.code.line(f"{target} = None")
        with self.code.block("else:"):
            otherwise()

    def _content(self, kind: Kind, target: str, path: str) -> None:
        complain = "bad_string" if kind is schema.String else "bad_length"
        too_long = f" or n > {STRING_SIZE_MAX}" if kind is schema.String and self.root.flexible else ""
        self.code.line("q = p + n")
        self.code.line(f"if q > end or n < 0{too_long}: raise {complain}(p, {path!r}, n, end - p)")
        if kind is schema.String:
            self.code.line(f"{target} = data[p:q].tobytes().decode()", [(path, 0)])
        elif kind is schema.Bytes:
            self.code.line(f"{target} = data[p:q].tobytes()")
        else:
            self.code.line(f"{target} = data[p:q]")
        self.code.line("p = q")

    def _array(self, field: Field, target: str, path: str) -> None:
        self._read_length("l", path)
        if self.root.flexible:
            self.code.line("n -= 1")
        self._null_or(field, target, lambda: self._elements(element_field(field), target, path))

    def _elements(self, element: Field, target: str, path: str) -> None:
        least = least_size_bytes(element, self.root.flexible)
        assert least > 0, "an element of no size would let four bytes ask for any number of them"
        self.code.line(
            f"if n * {least} > end - p or n < 0: raise bad_count(p, {path!r}, n, {least}, end - p)"
        )
        self.code.line("left -= n")
        self.code.line(f"if left < 0: raise too_many(p, {path!r}, {self.elements_max})")
        kind = element.kind
        if isinstance(kind, Fixed) and kind is not schema.Uuid:
            unpack = self.code.unpack(kind.format)
            many = f'struct.unpack_from(f">{{n}}{kind.format}", data, p)'
            self.code.line(f"{target} = [*{unpack}(data, p)] if n == 1 else [*{many}]")
            self.code.line(f"p += n * {kind.size_bytes}" if kind.size_bytes > 1 else "p += n")
            return
        items, add, item = self.code.fresh("items"), self.code.fresh("add"), self.code.fresh("o")
        self.code.line(f"{target} = {items} = []")
        self.code.line(f"{add} = {items}.append")
        with self.code.block("for _ in repeat(None, n):"):
            if isinstance(kind, type):
                assert element.layout is not None
                self._struct(element.layout, item, path)
            else:
                self._value(element, item, path)
            self._read_run()
            self.code.line(f"{add}({item})")


class _Later:
    """A reader that is written after the code that hands it to `read_tags`."""

    __slots__ = ("name", "scope")

    def __init__(self, scope: dict[str, Any], name: str) -> None:
        self.scope = scope
        self.name = name

    def __call__(self, data: memoryview, position: int, left: int) -> Any:
        return self.scope[self.name](data, position, left)
