"""The reference codec: construct objects built from a message's layout, one tree per message and version.

construct's primitives and its Construct base class are used, but not its VarInt (unlimited, quadratic),
GreedyRange and Array (which trust a count before the bytes are there): every length and count is checked
here against the bytes that are left before anything is allocated. Parsing runs on a `Source` and building
into a `Sink` instead of byte streams, so that record batches are slices of the input and payloads are not
copied. Messages that are not `hot` are served by this codec; for hot ones it is the reference of
their generated code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from construct import Adapter, Construct, Container, FormatField, FormatFieldError
from construct import Bytes as RawBytes

from protocol import schema
from protocol.errors import Unencodable
from protocol.layout import Field, Layout, element_field, layout, least_size_bytes
from protocol.primitives import (
    BYTES_LIKE,
    STRING_SIZE_MAX,
    Buffer,
    Reader,
    RecordParts,
    bad_count,
    bad_length,
    bad_presence,
    bad_string,
    bad_text,
    misplaced,
    put_records,
    read_tags,
    read_uvarint,
    records_size_bytes,
    unfit,
    uuid_of,
    write_tags,
    write_uvarint,
)
from protocol.schema import ZERO_UUID, ArrayOf, Fixed, WireField, declaration
from protocol.streams import Sink, Source

if TYPE_CHECKING:
    Base = Construct[Any, Any]
    BaseAdapter = Adapter[Any, Any, Any, Any]
else:
    Base, BaseAdapter = Construct, Adapter


_NO_CONTEXT: Any = Container()


class Numeric(Base):
    """A fixed-width number: construct's FormatField after a check of the input's end."""

    def __init__(self, kind: Fixed) -> None:
        super().__init__()
        self.kind = kind
        self.number: Base = FormatField(">", kind.format)

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        stream.require(self.kind.size_bytes, path)
        return self.number._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        try:
            return self.number._build(obj, stream, context, path)
        except FormatFieldError as error:
            raise unfit(path, self.kind, obj) from error


class UuidField(BaseAdapter):
    """A uuid.UUID in sixteen bytes."""

    def __init__(self) -> None:
        super().__init__(RawBytes(16))

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        stream.require(16, path)
        return super()._parse(stream, context, path)

    def _decode(self, obj: Any, context: Any, path: str) -> Any:
        return uuid_of(bytes(obj))

    def _encode(self, obj: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, type(ZERO_UUID)):
            raise unfit(path, schema.Uuid, obj)
        return obj.bytes


class Prefixed(Base):
    """A value after its length or count: the common part of strings, bytes, records and arrays."""

    def __init__(self, field: Field, length: Numeric | None) -> None:
        super().__init__()
        self.field = field
        self.length = length  # None: uvarint of length + 1

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        if self.length is None:
            length, stream.position = read_uvarint(stream.data, stream.position, path)
            length -= 1
        else:
            length = self.length._parse(stream, context, path)
        if length == -1 and self.field.nullable:
            return None
        return self._parse_content(length, stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if obj is None:
            if not self.field.nullable:
                raise unfit(path, self.field.kind, obj)
            self._build_length(-1, stream, context, path)
        else:
            self._build_content(obj, stream, context, path)
        return obj

    def _build_length(self, length: int, stream: Any, context: Any, path: str) -> None:
        if self.length is None:
            write_uvarint(stream.out, length + 1)
        else:
            self.length._build(length, stream, context, path)

    def _parse_content(self, length: int, stream: Any, context: Any, path: str) -> Any:
        raise NotImplementedError

    def _build_content(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        raise NotImplementedError


class Text(Prefixed):
    """A string in UTF-8."""

    def _parse_content(self, length: int, stream: Any, context: Any, path: str) -> Any:
        if not 0 <= length <= min(stream.left, STRING_SIZE_MAX):
            raise bad_string(stream.position, path, length, stream.left)
        start = stream.position
        try:
            return str(stream.read(length), "utf-8")
        except UnicodeDecodeError as error:
            raise bad_text(start, path, error.reason) from error

    def _build_content(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        try:
            raw = obj.encode()
        except (AttributeError, UnicodeEncodeError) as error:
            raise unfit(path, self.field.kind, obj) from error
        if len(raw) > STRING_SIZE_MAX:
            raise unfit(path, self.field.kind, raw)
        self._build_length(len(raw), stream, context, path)
        stream.write(raw)


class Blob(Prefixed):
    """Bytes, which are copied because they outlive the input."""

    def _parse_content(self, length: int, stream: Any, context: Any, path: str) -> Any:
        if not 0 <= length <= stream.left:
            raise bad_length(stream.position, path, length, stream.left)
        return bytes(stream.read(length))

    def _build_content(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        if not isinstance(obj, BYTES_LIKE):
            raise unfit(path, self.field.kind, obj)
        self._build_length(len(obj), stream, context, path)
        stream.write(obj)


class Payload(Prefixed):
    """Record batches: parsed, a slice of the input; built, buffers of their own."""

    def _parse_content(self, length: int, stream: Any, context: Any, path: str) -> Any:
        if not 0 <= length <= stream.left:
            raise bad_length(stream.position, path, length, stream.left)
        return stream.read(length)

    def _build_content(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        if not isinstance(obj, (*BYTES_LIKE, RecordParts)):
            raise unfit(path, self.field.kind, obj)
        self._build_length(records_size_bytes(obj), stream, context, path)
        stream.out = put_records(stream.buffers, obj)


class Many(Prefixed):
    """An array."""

    def __init__(self, field: Field, length: Numeric | None, element: Base, least_size_bytes: int) -> None:
        super().__init__(field, length)
        assert least_size_bytes > 0, "an element of no size would let four bytes ask for any number of them"
        self.element = element
        self.least_size_bytes = least_size_bytes

    def _parse_content(self, length: int, stream: Any, context: Any, path: str) -> Any:
        if length < 0 or length * self.least_size_bytes > stream.left:
            raise bad_count(stream.position, path, length, self.least_size_bytes, stream.left)
        stream.count_elements(length, path)
        return [self.element._parsereport(stream, context, path) for _ in range(length)]

    def _build_content(self, obj: Any, stream: Any, context: Any, path: str) -> None:
        try:
            count = len(obj)
        except TypeError as error:
            raise unfit(path, self.field.kind, obj) from error
        self._build_length(count, stream, context, path)
        for element in obj:
            self.element._build(element, stream, context, path)


class Plan(NamedTuple):
    """The values that are the same in the whole tree of one codec."""

    version: int
    flexible: bool
    elements_max: int


class Record(Base):
    """A struct: its fields in order, then, in flexible versions, its tagged fields."""

    def __init__(self, plan: Plan, found: Layout, path: str) -> None:
        super().__init__()
        self.plan = plan
        self.layout = found
        self.path = path
        self.plain = [(field.name, _node(plan, field, path)) for field in found.plain]
        self.tagged = [(field, _node(plan, field, path)) for field in found.tagged]
        self.known = {field.tag or 0: (field.name, self._reader(field, node)) for field, node in self.tagged}
        self.unread: tuple[Field | WireField, ...] = (*found.tagged, *found.absent)

    def _reader(self, field: Field, node: Base) -> Reader:
        path = f"{self.path}.{field.name}"

        def read(data: memoryview, position: int, left: int) -> tuple[Any, int, int]:
            source: Any = Source(data, position, self.plan.elements_max)
            source.elements_left = left
            value = node._parsereport(source, _NO_CONTEXT, path)
            return value, source.position, source.elements_left

        return read

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        values = {
            field.name: [] if isinstance(field.default, list) else field.default for field in self.unread
        }
        for name, node in self.plain:
            values[name] = node._parsereport(stream, context, f"{self.path}.{name}")
        parsed = self.layout.cls(**values)
        if self.layout.flexible:
            self._parse_tags(parsed, stream)
        return parsed

    def _parse_tags(self, parsed: Any, stream: Any) -> None:
        count, stream.position = read_uvarint(stream.data, stream.position, f"{self.path}.unknown_tags")
        if count:
            stream.position, stream.elements_left = read_tags(
                stream.data,
                stream.position,
                count,
                stream.elements_left,
                target=parsed,
                known=self.known,
                path=self.path,
                elements_max=self.plan.elements_max,
            )

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        if not isinstance(obj, self.layout.cls):
            raise unfit(path, self.layout.cls.__name__, obj)
        for field in self.layout.absent:
            value = getattr(obj, field.name)
            if not field.ignorable and value != field.default:
                raise misplaced(f"{self.path}.{field.name}", self.plan.version, value)
        for name, node in self.plain:
            node._build(getattr(obj, name), stream, context, f"{self.path}.{name}")
        if self.layout.flexible:
            write_tags(stream.out, self._build_tags(obj, context))
        elif obj.unknown_tags:
            raise misplaced(f"{self.path}.unknown_tags", self.plan.version, dict(obj.unknown_tags))
        return obj

    def _build_tags(self, obj: Any, context: Any) -> dict[int, bytes]:
        tags = dict(obj.unknown_tags)
        for field, node in self.tagged:
            value = getattr(obj, field.name)
            assert field.tag is not None
            if value == field.default:
                continue
            if field.tag in tags:
                raise Unencodable(f"{self.path}.{field.name}", f"tag {field.tag} is also in unknown_tags")
            inner: Any = Sink()
            node._build(value, inner, context, f"{self.path}.{field.name}")
            tags[field.tag] = bytes(inner.out)
        return tags


class Optional(Base):
    """A struct that may be null: int8 1 before it, or int8 -1 alone."""

    def __init__(self, inner: Record) -> None:
        super().__init__()
        self.inner = inner

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        position = stream.position
        marker = _PRESENCE._parse(stream, context, path)
        if marker == -1:
            return None
        if marker != 1:
            raise bad_presence(position, path, marker)
        return self.inner._parsereport(stream, context, path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        _PRESENCE._build(-1 if obj is None else 1, stream, context, path)
        return obj if obj is None else self.inner._build(obj, stream, context, path)


_PRESENCE = Numeric(schema.Int8)
_LENGTHS = {"h": Numeric(schema.Int16), "l": Numeric(schema.Int32)}
_SIZED = {schema.String: Text, schema.Bytes: Blob, schema.Records: Payload}


def _node(plan: Plan, field: Field, path: str) -> Base:
    """Return the construct object for one field of a struct at `path`."""
    kind = field.kind
    if isinstance(kind, Fixed):
        return UuidField() if kind is schema.Uuid else Numeric(kind)
    if isinstance(kind, ArrayOf):
        inner = element_field(field)
        element = _node(plan, inner, path)
        least = least_size_bytes(inner, plan.flexible)
        return Many(field, None if plan.flexible else _LENGTHS["l"], element, least)
    if isinstance(kind, type):
        assert field.layout is not None
        record = Record(plan, field.layout, f"{path}.{field.name}")
        return Optional(record) if field.nullable else record
    return _SIZED[kind](field, None if plan.flexible else _LENGTHS[kind.length_format])


class Codec(Base):
    """The codec of one message in one version: `parse(bytes)` and `build(message)`, or on Source and Sink."""

    def __init__(self, cls: type[Any], version: int) -> None:
        super().__init__()
        declared = declaration(cls)
        self.elements_max = declared.elements_max
        plan = Plan(version, version in declared.flexible, declared.elements_max)
        self.root = Record(plan, layout(cls, version), cls.__name__)

    def _parse(self, stream: Any, context: Any, path: str) -> Any:
        return self.root._parsereport(stream, context, self.root.path)

    def _build(self, obj: Any, stream: Any, context: Any, path: str) -> Any:
        return self.root._build(obj, stream, context, self.root.path)

    def decode(self, data: bytes | bytearray | memoryview, position: int = 0) -> tuple[Any, int]:
        """Return the message at `position` and the position after it.

        Raises: Malformed.
        """
        source: Any = Source(memoryview(data), position, self.elements_max)
        return self.parse_stream(source), source.position

    def encode(self, message: Any) -> list[Buffer]:
        """Return the buffers that carry the message.

        Raises: Unencodable.
        """
        sink: Any = Sink()
        self.build_stream(message, sink)
        return [buffer for buffer in sink.buffers if not isinstance(buffer, bytearray) or buffer]

    def parse(self, data: Any, **contextkw: Any) -> Any:
        """Return the message at the start of `data`; construct's entry for bytes."""
        return self.decode(data)[0]

    def build(self, obj: Any, **contextkw: Any) -> bytes:
        """Return the message as bytes; only for messages whose payloads are bytes."""
        return b"".join(self.encode(obj))  # type: ignore[arg-type]
