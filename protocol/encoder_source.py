"""The writer of generated encoders' source; see `compiled.py`.

Variables in the source: `out` the buffer being filled, `buffers` all of them (only where the message has
records or bytes), `n` a length or count, `s` an encoded string. A failure is our own bug: the encoder then
has the reference codec encode the same message, which says exactly what is wrong.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Final

from protocol import primitives, schema
from protocol.compiled import Code
from protocol.layout import Field, Layout, element_field
from protocol.primitives import STRING_SIZE_MAX, RecordParts
from protocol.schema import NO_TAGS, ArrayOf, Fixed, Kind

COPIED_BYTES_MAX: Final = 64 << 10
"""Larger bytes become buffers of their own: copying 15 MiB of a group member's metadata takes 13 ms."""

_SCOPE = {
    "NO_TAGS": NO_TAGS,
    "RecordParts": RecordParts,
    "put_records": primitives.put_records,
    "struct": struct,
    "write_compact_strings": primitives.write_compact_strings,
    "write_strings": primitives.write_strings,
    "write_tags": primitives.write_tags,
    "write_uvarint": primitives.write_uvarint,
}


def explain(message: Any, version: int, error: Exception) -> Exception:
    """Return the error that says why `message` cannot be encoded."""
    from protocol.errors import Unencodable
    from protocol.wire import reference_codec

    try:
        reference_codec(type(message), version).encode(message)
    except Unencodable as reason:
        return reason
    return error


class EncoderSource:
    """The writer of one layout's encoder."""

    def __init__(self, root: Layout, version: int) -> None:
        self.root = root
        self.version = version
        self.code = Code()
        self.code.scope.update(_SCOPE, explain=explain)
        self.tag_writers: list[tuple[str, Layout]] = []
        self.has_buffers = _holds_payloads(root)
        # Whether large bytes may be left uncopied: a tagged field is written as a whole, to know its size.
        self.in_tags = False
        # The run: fixed-width values still to be written.
        self.formats: list[str] = []
        self.values: list[str] = []

    def build(self, title: str) -> Any:
        """Write everything and return the encoder."""
        with self.code.block("def encode(message):"):
            self.code.line("out = bytearray()")
            if self.has_buffers:
                self.code.line("buffers = [out]")
            with self.code.block("try:"):
                self._struct(self.root, "message")
                self._write_run()
            with self.code.block(
                "except (struct.error, AttributeError, TypeError, UnicodeEncodeError) as error:"
            ):
                self.code.line(f"raise explain(message, {self.version}, error) from error")
            if self.has_buffers:
                self.code.line("if not out: buffers.pop()")
                self.code.line("return buffers")
            else:
                self.code.line("return [out] if out else []")
        for name, found in self.tag_writers:  # It grows while tagged structs have tagged fields.
            self._tag_writer(name, found)
        return self.code.build("encode", title)

    # --- runs of fixed width --------------------------------------------------------------------------------

    def _add(self, format_: str, value: str = "") -> None:
        self.formats.append(format_)
        if value:
            self.values.append(value)

    def _write_run(self) -> None:
        self._write_run_with("")
        self.formats, self.values = [], []

    def _write_run_with(self, format_: str, value: str = "") -> None:
        """Write the run and one more value, and keep the run for another branch."""
        formats = "".join([*self.formats, format_])
        values = [*self.values, value] if value else self.values
        if not formats:
            return
        if not values:
            self.code.line(f"out += {bytes(len(formats))!r}")
        else:
            self.code.line(f"out += {self.code.pack(formats)}({', '.join(values)})")

    def _write_length(self, length_format: str, limit: int = 0) -> None:
        """Write the run and the length `n`."""
        if not self.root.flexible:
            self._add(length_format, "n")
            self._write_run()
            return
        with self.code.block("if n < 127:"):
            self._write_run_with("B", "n + 1")
        with self.code.block("else:"):
            if limit:
                self.code.line(f"if n > {limit}: raise TypeError(n)")
            self._write_run_with("")
            self.code.line("write_uvarint(out, n + 1)")
        self.formats, self.values = [], []

    def _null_or(self, field: Field, value: str, length_format: str, otherwise: Callable[[], None]) -> None:
        """Write null, or what `otherwise` writes; it fails on a null that is not allowed."""
        if not field.nullable:
            otherwise()
            return
        with self.code.block(f"if {value} is None:"):
            if self.root.flexible:
                self._write_run_with("x")
            else:
                self._write_run_with(length_format, "-1")
        formats, values = self.formats, self.values
        with self.code.block("else:"):
            self.formats, self.values = list(formats), list(values)
            otherwise()
            self._write_run()

    # --- values ---------------------------------------------------------------------------------------------

    def _struct(self, found: Layout, name: str) -> None:
        for left_out in found.absent:
            if not left_out.ignorable:
                differs = self._differs(f"{name}.{left_out.name}", left_out.default)
                self.code.line(f"if {differs}: raise TypeError")
        for field in found.plain:
            self._value(field, f"{name}.{field.name}")
        if found.flexible:
            self._tags(found, name)
        else:
            self.code.line(f"if {name}.unknown_tags is not NO_TAGS and {name}.unknown_tags: raise TypeError")

    def _differs(self, value: str, default: Any) -> str:
        """Return the source of the condition that a value is not its default."""
        if default is None:
            return f"{value} is not None"
        if isinstance(default, list):
            return f"{value} != []"
        plain = isinstance(default, (int, str, bytes, float))
        return f"{value} != {default!r}" if plain else f"{value} != {self.code.refer('d', default)}"

    def _tags(self, found: Layout, name: str) -> None:
        tests = [f"{name}.unknown_tags is not NO_TAGS"]
        tests += [self._differs(f"{name}.{field.name}", field.default) for field in found.tagged]
        tags = f"{name}.unknown_tags"
        if found.tagged:
            writer = self.code.fresh("tags")
            self.tag_writers.append((writer, found))
            tags = f"{writer}({name})"
        with self.code.block(f"if {' or '.join(tests)}:"):
            self._write_run_with("")
            self.code.line(f"write_tags(out, {tags})")
        with self.code.block("else:"):
            self._write_run_with("x")
        self.formats, self.values = [], []

    def _tag_writer(self, name: str, found: Layout) -> None:
        """Write the function that returns all tagged fields of a struct, encoded."""
        self.in_tags = True
        with self.code.block(f"def {name}(o):"):
            self.code.line("tags = {} if o.unknown_tags is NO_TAGS else dict(o.unknown_tags)")
            for field in found.tagged:
                with self.code.block(f"if {self._differs(f'o.{field.name}', field.default)}:"):
                    self.code.line(f"if {field.tag} in tags: raise TypeError")
                    self.code.line("out = bytearray()")
                    self._value(field, f"o.{field.name}")
                    self._write_run()
                    self.code.line(f"tags[{field.tag}] = out")
            self.code.line("return tags")

    def _value(self, field: Field, value: str) -> None:
        """Write one value, or add it to the run."""
        kind = field.kind
        if kind is schema.Uuid:
            self._add("16s", f"{value}.int.to_bytes(16, 'big')")
        elif isinstance(kind, Fixed):
            self._add(kind.format, value)
        elif isinstance(kind, type):
            self._nested(field, value)
        elif isinstance(kind, ArrayOf):
            self._null_or(field, value, "l", lambda: self._array(element_field(field), value))
        else:
            self._null_or(field, value, kind.length_format, lambda: self._sized(kind, value))

    def _nested(self, field: Field, value: str) -> None:
        assert field.layout is not None
        name = self.code.fresh("o")
        if not field.nullable:
            self.code.line(f"{name} = {value}")
            self._struct(field.layout, name)
            return
        with self.code.block(f"if {value} is None:"):
            self._write_run_with("b", "-1")
        with self.code.block("else:"):
            self._add("b", "1")
            self.code.line(f"{name} = {value}")
            self._struct(field.layout, name)
            self._write_run()

    def _sized(self, kind: Kind, value: str) -> None:
        if kind is schema.Records:
            name = self.code.fresh("r")
            self.code.line(f"{name} = {value}")
            self.code.line(f"n = {name}.size_bytes if {name}.__class__ is RecordParts else len({name})")
            self._write_length("l")
            self.code.line(f"if n: out = put_records(buffers, {name})")
            return
        name = self.code.fresh("s")
        self.code.line(f"{name} = {value}{'.encode()' if kind is schema.String else ''}")
        if kind is schema.Bytes:  # A bytearray would accept any iterable of small numbers.
            self.code.line(f"if {name}.__class__ is not bytes: {name} = memoryview({name})")
        self.code.line(f"n = len({name})")
        limit = STRING_SIZE_MAX if kind is schema.String else 0
        self._write_length("h" if limit else "l", limit)
        if kind is schema.Bytes and not self.in_tags:
            with self.code.block(f"if n > {COPIED_BYTES_MAX}:"):
                self.code.line(f"out = put_records(buffers, {name})")
            with self.code.block("else:"):
                self.code.line(f"out += {name}")
        else:
            self.code.line(f"out += {name}")

    def _array(self, element: Field, value: str) -> None:
        items = self.code.fresh("items")
        self.code.line(f"{items} = {value}")
        self.code.line(f"n = len({items})")
        kind = element.kind
        if isinstance(kind, Fixed) and kind is not schema.Uuid:
            self._numbers(kind, items)
            return
        self._write_length("l")
        if kind is schema.String and not element.nullable:
            writer = "write_compact_strings" if self.root.flexible else "write_strings"
            self.code.line(f"{writer}(out, {items})")
            return
        item = self.code.fresh("o")
        with self.code.block(f"for {item} in {items}:"):
            if isinstance(kind, type):
                assert element.layout is not None
                self._struct(element.layout, item)
            else:
                self._value(element, item)
            self._write_run()

    def _numbers(self, kind: Fixed, items: str) -> None:
        """Write an array of numbers; a single one, as most replica lists have, goes with the run."""
        with self.code.block("if n == 1:"):
            self.code.line(f"one, = {items}")
            if self.root.flexible:
                self._write_run_with(f"B{kind.format}", "2, one")
            else:
                self._write_run_with(f"l{kind.format}", "1, one")
        with self.code.block("else:"):
            self._write_length("l")
            self.code.line(f'if n: out += struct.pack(f">{{n}}{kind.format}", *{items})')


def _holds_payloads(found: Layout) -> bool:
    """Whether a message has values that may become buffers of their own."""
    return any(
        _element(field.kind) in (schema.Records, schema.Bytes)
        or (field.layout is not None and _holds_payloads(field.layout))
        for field in (*found.plain, *found.tagged)
    )


def _element(kind: Kind) -> Kind:
    return kind.element if isinstance(kind, ArrayOf) else kind
