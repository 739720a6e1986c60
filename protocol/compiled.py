"""Generated codecs for hot messages: a function per message, version and direction, written at first use.

As `dataclasses` writes `__init__`, this writes the decoder or encoder of one version from the layout that the
reference codec is built from (`reference.py` says what it must do; a test proves that both agree in bytes,
values and errors). What makes it fast:
- a run of fixed-width fields, with the first byte or the int of a length after it, is one `unpack_from`;
- structs are written inline: no function call per field or per struct, and attributes are stored straight
  into slots;
- a varint of one byte, which is nearly every one, costs a comparison;
- the happy path checks nothing that `struct` or indexing checks anyway. When these raise, the line that
  raised is looked up in a table (line -> fields read there), which gives the position and the field
  of the complaint.

Writing one takes about 1 ms, so a client's first requests pay some 10 ms in all, once per process.
`decoder_source.py` and `encoder_source.py` do the writing; here are the entry points and the parts
that both share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from struct import Struct
from typing import Any

from protocol.errors import Malformed
from protocol.layout import layout
from protocol.primitives import Buffer, bad_text, too_short
from protocol.schema import declaration

FieldsOfLine = dict[int, tuple[tuple[str, int], ...]]
"""For each line that reads fixed-width fields: their paths and sizes, in order."""


class Code:
    """Source text being written, with the objects it refers to."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.scope: dict[str, Any] = {}
        self.fields_of_line: FieldsOfLine = {}
        self._names: dict[tuple[str, Any], str] = {}
        self._depth = 0
        self._count = 0

    def line(self, text: str, fields: Sequence[tuple[str, int]] = ()) -> None:
        """Add a line; `fields` are those it reads, as (path, size in bytes)."""
        self.lines.append("    " * self._depth + text)
        if fields:
            self.fields_of_line[len(self.lines)] = tuple(fields)

    @contextmanager
    def block(self, head: str) -> Iterator[None]:
        """Add a line that ends in a colon, and indent what follows."""
        self.line(head)
        self._depth += 1
        yield
        self._depth -= 1

    def fresh(self, prefix: str) -> str:
        """Return a variable name not used before."""
        self._count += 1
        return f"{prefix}{self._count}"

    def refer(self, prefix: str, value: Any, key: Any = None) -> str:
        """Return a name under which the code can use `value`; equal keys share one."""
        known = (prefix, id(value) if key is None else key)
        name = self._names.get(known)
        if name is None:
            name = self._names[known] = self.fresh(prefix)
            self.scope[name] = value
        return name

    def unpack(self, formats: str) -> str:
        """Return a name for `unpack_from` of these struct formats."""
        return self.refer("unpack", Struct(f">{formats}").unpack_from, formats)

    def pack(self, formats: str) -> str:
        """Return a name for `pack` of these struct formats."""
        return self.refer("pack", Struct(f">{formats}").pack, formats)

    def build(self, name: str, title: str) -> Callable[..., Any]:
        """Compile the lines and return the function `name`."""
        exec(compile("\n".join(self.lines), f"<{title}>", "exec"), self.scope)  # noqa: S102  (all from declarations)
        built: Callable[..., Any] = self.scope[name]
        return built


def locate(error: Exception, fields_of_line: FieldsOfLine, position: int, end: int) -> Malformed:
    """Turn an error of struct, indexing or UTF-8 in generated code into a complaint about a field."""
    assert error.__traceback__ is not None
    fields = fields_of_line[error.__traceback__.tb_lineno]
    if isinstance(error, UnicodeDecodeError):
        return bad_text(position, fields[0][0], error.reason)
    for path, size_bytes in fields:
        if position + size_bytes > end:
            return too_short(position, path, size_bytes, end - position)
        position += size_bytes
    raise AssertionError(f"{fields} lie within {end} bytes") from error


def compile_decoder(
    cls: type[Any], version: int, elements_max: int | None = None
) -> Callable[[Any, int], tuple[Any, int]]:
    """Return the function (data, position) -> (message, position after it) for one version of a message.

    It refuses more elements than `elements_max`, None: than the message declares.
    """
    from protocol.decoder_source import DecoderSource

    writer = DecoderSource(layout(cls, version), elements_max or declaration(cls).elements_max)
    decode: Callable[[Any, int], tuple[Any, int]] = writer.build(f"{cls.__name__} v{version} decoder")
    return decode


def compile_encoder(cls: type[Any], version: int) -> Callable[[Any], list[Buffer]]:
    """Return the function message -> buffers for one version of a message."""
    from protocol.encoder_source import EncoderSource

    writer = EncoderSource(layout(cls, version), version)
    encode: Callable[[Any], list[Buffer]] = writer.build(f"{cls.__name__} v{version} encoder")
    return encode
