"""The declaration of messages: kinds of field, `wire()`, `@message`, `@struct`.

The dataclass *is* the declaration: one per message, for all its versions.

    @message(api=ApiKey.HEARTBEAT, versions="0-4", flexible="4+", hot=True)
    class HeartbeatRequest:
        group_id: str = wire(String)
        group_instance_id: str | None = wire(String, "3+", nullable="3+", default=None)

A field that a version does not carry takes its default when decoded; a value other than the default that a
version cannot carry is refused when encoded, unless the field is `ignorable`. A field without `default=` must
be given to the constructor. Every class also has `unknown_tags`, which keeps tagged fields that the
declaration does not know.

`layout.py` resolves the ranges for one version; both codecs (`reference.py`, `compiled.py`) are built from
that. Version ranges are written as Kafka writes them: `"0+"`, `"3-9"`, `"7"`, `"none"`.
Source: the README of Kafka's message definitions (clients/src/main/resources/common/message/README.md),
KIP-482 (tags).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypeVar, cast, dataclass_transform
from uuid import UUID

from protocol.api_keys import ApiKey

T = TypeVar("T")

ZERO_UUID: Final = UUID(int=0)
"""Kafka's "no id": the default of every UUID field."""


class _NoTags(Mapping[int, bytes]):
    """An empty mapping that stays empty; its copies and pickles are the same object."""

    __slots__ = ()

    def __getitem__(self, tag: int) -> bytes:
        raise KeyError(tag)

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return "{}"

    def __reduce__(self) -> str:
        return "NO_TAGS"


NO_TAGS: Final[Mapping[int, bytes]] = _NoTags()
"""The `unknown_tags` of nearly every object: shared, so that it costs nothing."""

VERSIONS_END: Final = 32_768
"""Versions are int16 on the wire, so "3+" means 3 to 32,767."""

ELEMENTS_MAX: Final = 20_000
"""Array elements and unknown tags that a request may hold unless its declaration says more: 10 ms of
generated code, 0.2 s of construct. Requests that list partitions allow 200,000, which take 0.2 s at worst.
"""

RESPONSE_ELEMENTS_MAX: Final = 4_000_000
"""The same for other messages, which only our own tools decode: metadata of 100,000 partitions, say."""


class Fixed:
    """A kind of fixed width, packed and unpacked by `struct` (big-endian)."""

    __slots__ = ("format", "name", "size_bytes")

    def __init__(self, name: str, format: str, size_bytes: int) -> None:  # noqa: A002
        self.name = name
        self.format = format
        self.size_bytes = size_bytes

    def __repr__(self) -> str:
        return self.name


class Sized:
    """A kind preceded by its length: a uvarint of length + 1 in flexible versions, else an int16 or int32."""

    __slots__ = ("length_format", "name")

    def __init__(self, name: str, length_format: str) -> None:
        self.name = name
        self.length_format = length_format

    def __repr__(self) -> str:
        return self.name


class ArrayOf:
    """A counted run of elements: of a fixed kind, of strings, or of a struct class."""

    __slots__ = ("element",)

    def __init__(self, element: Kind) -> None:
        self.element = element

    def __repr__(self) -> str:
        return f"ArrayOf({getattr(self.element, '__name__', self.element)})"


Kind = Fixed | Sized | ArrayOf | type[Any]

Int8: Final = Fixed("Int8", "b", 1)
Int16: Final = Fixed("Int16", "h", 2)
Int32: Final = Fixed("Int32", "l", 4)
Int64: Final = Fixed("Int64", "q", 8)
UInt16: Final = Fixed("UInt16", "H", 2)
UInt32: Final = Fixed("UInt32", "L", 4)
Bool: Final = Fixed("Bool", "?", 1)
Float64: Final = Fixed("Float64", "d", 8)
Uuid: Final = Fixed("Uuid", "16s", 16)
String: Final = Sized("String", "h")
Bytes: Final = Sized("Bytes", "l")
Records: Final = Sized("Records", "l")


class _Required:
    """The default of a field that has none."""

    def __repr__(self) -> str:
        return "REQUIRED"


REQUIRED: Final = _Required()


class WireField:
    """One declared field, as `wire()` made it; its name is set by `@message`."""

    __slots__ = ("default", "ignorable", "kind", "name", "nullable", "secret", "tag", "versions")

    def __init__(self, kind: Kind, versions: str, **rest: Any) -> None:
        self.name = ""
        self.kind = kind
        self.versions = parse_versions(versions)
        self.default: Any = rest["default"]
        self.nullable = parse_versions(rest["nullable"])
        self.tag: int | None = rest["tag"]
        self.ignorable: bool = rest["ignorable"]
        self.secret: bool = rest["secret"]


def wire(
    kind: Kind,
    versions: str = "0+",
    *,
    default: Any = REQUIRED,
    nullable: str = "none",
    tag: int | None = None,
    ignorable: bool = False,
    secret: bool = False,
) -> Any:
    """Declare a field of `kind`, present in `versions`.

    `default`: its value where a version does not carry it, and where the constructor is not given one.
    `nullable`: versions in which it may be None on the wire.  `tag`: the field is tagged (in all its
    versions), and left out when it equals its default. `ignorable`: a version that cannot carry the value
    drops it silently.
    `secret`: never shown by `repr`.
    """
    return WireField(
        kind, versions, default=default, nullable=nullable, tag=tag, ignorable=ignorable, secret=secret
    )


class Declaration:
    """The facts that `@message` and `@struct` keep about a class, in its attribute `__wire__`."""

    __slots__ = ("api", "cls", "elements_max", "fields", "flexible", "hot", "versions")

    def __init__(self, cls: type[Any], fields: tuple[WireField, ...]) -> None:
        self.cls = cls
        self.fields = fields
        self.api: ApiKey | None = None
        self.versions = range(VERSIONS_END)
        self.flexible = range(0)
        self.hot = False
        self.elements_max = ELEMENTS_MAX if cls.__name__.endswith("Request") else RESPONSE_ELEMENTS_MAX


def declaration(cls: type[Any]) -> Declaration:
    """Return the declaration of a message or struct class."""
    found: Declaration = cls.__wire__
    return found


@dataclass_transform(kw_only_default=True, field_specifiers=(wire,))
def struct(cls: type[T]) -> type[T]:
    """Make a slotted, keyword-only dataclass that occurs inside messages, in their versions."""
    return _build(cls)


@dataclass_transform(kw_only_default=True, field_specifiers=(wire,))
def message(
    *,
    versions: str,
    flexible: str = "none",
    api: ApiKey | None = None,
    hot: bool = False,
    elements_max: int | None = None,
) -> Callable[[type[T]], type[T]]:
    """Make a slotted, keyword-only dataclass that is encoded on its own.

    `versions`: those that can be decoded and encoded. `flexible`: those with compact lengths and tags. `api`:
    its key, None for schemas of stored records. `hot`: use generated code, not construct. `elements_max`: how
    many array elements and unknown tags it may hold, if not the default.
    """

    def decorate(cls: type[T]) -> type[T]:
        built = _build(cls)
        declared = declaration(built)
        declared.versions = parse_versions(versions)
        declared.flexible = parse_versions(flexible)
        declared.api = api
        declared.hot = hot
        if elements_max is not None:
            declared.elements_max = elements_max
        return built

    return decorate


_RANGES: dict[str, range] = {"none": range(0)}


def parse_versions(text: str) -> range:
    """Return the versions that `text` names: "3+" (open), "3-9" (both ends), "7" or "none"."""
    found = _RANGES.get(text)
    if found is None:
        first, dash, last = text.partition("-")
        if text.endswith("+"):
            found = range(int(text[:-1]), VERSIONS_END)
        else:
            found = range(int(first), int(last if dash else first) + 1)
        _RANGES[text] = found
    return found


# --- the class ----------------------------------------------------------------------------------------------
# `dataclasses.dataclass` costs 0.35 ms a class and its import 13 ms; a broker has some 150 of these classes
# and is to answer 0.3 s after exec. So the class is built here with slots only, and its __init__ is written
# when first called.


def _build(cls: type[T]) -> type[T]:
    """Return `cls` anew, with slots for its fields in place of their declarations."""
    fields = []
    for name in cls.__annotations__:
        field = cls.__dict__[name]
        field.name = name
        fields.append(field)
    left_out = {*cls.__annotations__, "__dict__", "__weakref__"}
    namespace = {name: value for name, value in cls.__dict__.items() if name not in left_out}
    namespace["__slots__"] = (*cls.__annotations__, "unknown_tags")
    namespace["__init__"] = _first_init
    namespace["__eq__"] = _equal
    namespace["__hash__"] = None
    namespace["__repr__"] = _represent
    namespace["__dataclass_fields__"] = _StandardFields()
    built: Any = type(cls.__name__, cls.__bases__, namespace)
    built.__wire__ = Declaration(built, tuple(fields))
    return cast("type[T]", built)


def _first_init(self: Any, **values: Any) -> None:
    """Write the class's real __init__, then call it."""
    cls = type(self)
    cls.__init__ = _write_init(declaration(cls))
    cls.__init__(self, **values)


def prepare_constructors(cls: type[Any]) -> None:
    """Write the __init__ of a class and of the structs in it, where it has not been called yet."""
    if cls.__init__ is _first_init:
        cls.__init__ = _write_init(declaration(cls))
    for field in declaration(cls).fields:
        inner = field.kind.element if isinstance(field.kind, ArrayOf) else field.kind
        if isinstance(inner, type):
            prepare_constructors(inner)


def _write_init(declared: Declaration) -> Callable[..., None]:
    """Generate `def __init__(self, *, group_id, generation_id, …)`; every object gets lists of its own."""
    scope: dict[str, Any] = {"absent": REQUIRED, "NO_TAGS": NO_TAGS}
    parameters, body = [], []
    for field in declared.fields:
        name = field.name
        if field.default is REQUIRED:
            parameters.append(name)
        elif isinstance(field.default, list):
            parameters.append(f"{name}=absent")
            body.append(f"    self.{name} = [] if {name} is absent else {name}")
            continue
        else:
            scope[f"default_{name}"] = field.default
            parameters.append(f"{name}=default_{name}")
        body.append(f"    self.{name} = {name}")
    head = f"def __init__(self, *, {''.join(p + ', ' for p in parameters)}unknown_tags=NO_TAGS):"
    source = "\n".join([head, *body, "    self.unknown_tags = unknown_tags"])
    exec(source, scope)  # noqa: S102  (only names and defaults from declarations go into it)
    init: Callable[..., None] = scope["__init__"]
    init.__qualname__ = f"{declared.cls.__qualname__}.__init__"
    return init


def _equal(self: Any, other: Any) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return all(
        (mine := getattr(self, name)) is (theirs := getattr(other, name)) or mine == theirs
        for name in self.__slots__
    )


def _represent(self: Any) -> str:
    shown = [
        f"{field.name}={'***' if field.secret else repr(getattr(self, field.name))}"
        for field in declaration(type(self)).fields
    ]
    if self.unknown_tags:
        shown.append(f"unknown_tags={dict(self.unknown_tags)!r}")
    return f"{type(self).__qualname__}({', '.join(shown)})"


class _StandardFields:
    """A descriptor for `dataclasses.fields`, `replace` and `asdict`, which imports them only when used."""

    def __get__(self, instance: object, owner: type[Any]) -> dict[str, Any]:
        import dataclasses

        specifications: list[Any] = []
        for field in declaration(owner).fields:
            if field.default is REQUIRED:
                specification: Any = dataclasses.field()
            elif isinstance(field.default, list):
                specification = dataclasses.field(default_factory=list)
            else:
                specification = dataclasses.field(default=field.default)
            specifications.append((field.name, owner.__annotations__[field.name], specification))
        specifications.append(
            ("unknown_tags", "Mapping[int, bytes]", dataclasses.field(default_factory=lambda: NO_TAGS))
        )
        twin: Any = dataclasses.make_dataclass(owner.__name__, specifications, kw_only=True)
        fields: dict[str, Any] = twin.__dataclass_fields__
        return fields
