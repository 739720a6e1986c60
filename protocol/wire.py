"""The entry points of the message codecs: to declare, decode and encode messages.

`decode` and `encode` find the codec of a class and version, making it at its first use: generated code for
messages declared `hot` (`compiled.py`), construct for all others (`reference.py`). Importing this file and a
message imports neither.

Guarantees, the same for both codecs:
- Input is never trusted: a length or count is checked against the bytes that are left, and all elements of a
  message against one limit, before anything is allocated. For any bytes, decoding ends in a message, in
  `Malformed` or in `UnsupportedVersion`.
- `Records` are slices of the input (valid as long as it is); everything else is copied out of it.
- Unknown tagged fields survive decoding and encoding byte for byte.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from protocol.errors import UnsupportedVersion
from protocol.primitives import Buffer, Part, RecordParts, too_many
from protocol.schema import (
    NO_TAGS,
    REQUIRED,
    ZERO_UUID,
    ArrayOf,
    Bool,
    Bytes,
    Declaration,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Records,
    String,
    UInt16,
    UInt32,
    Uuid,
    declaration,
    message,
    prepare_constructors,
    struct,
    wire,
)

if TYPE_CHECKING:
    from protocol.reference import Codec

__all__ = [
    "NO_TAGS",
    "REQUIRED",
    "ZERO_UUID",
    "ArrayOf",
    "Bool",
    "Buffer",
    "Bytes",
    "Declaration",
    "Float64",
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "Part",
    "RecordParts",
    "Records",
    "String",
    "UInt16",
    "UInt32",
    "Uuid",
    "declaration",
    "decode",
    "decode_narrow",
    "encode",
    "joined",
    "message",
    "prepare_decoder",
    "prepare_encoder",
    "prepare_narrow_decoder",
    "prepare_written",
    "reference_codec",
    "size_bytes",
    "struct",
    "wire",
]

T = TypeVar("T")
Decoder = Callable[[Any, int], tuple[Any, int]]
Encoder = Callable[[Any], list[Buffer]]

_decoders: dict[tuple[type[Any], int], Decoder] = {}
_narrow_decoders: dict[tuple[type[Any], int, int], Decoder] = {}
_encoders: dict[tuple[type[Any], int], Encoder] = {}
_references: dict[tuple[type[Any], int], Codec] = {}


def decode(
    cls: type[T], version: int, data: bytes | bytearray | memoryview, position: int = 0
) -> tuple[T, int]:
    """Return the message of class `cls` at `position` of `data`, and the position after it.

    Bytes after the message are left to the caller.
    Raises: Malformed, UnsupportedVersion.
    """
    decoder = _decoders.get((cls, version)) or _make_decoder(cls, version)
    return decoder(data, position)


def decode_narrow(
    cls: type[T], version: int, data: bytes | bytearray | memoryview, position: int, elements_max: int
) -> tuple[T, int]:
    """Do the same for a message of at most so many elements, whose decoding takes little time.

    Raises: TooManyElements, also for any message without generated code; else as `decode`.
    """
    key = (cls, version, elements_max)
    decoder = _narrow_decoders.get(key) or _make_narrow_decoder(*key)
    return decoder(data, position)


def encode(message: Any, version: int) -> list[Buffer]:
    """Return the buffers that carry `message`: small parts joined, others uncopied.

    Those are record payloads above 1 KiB and, of hot messages, bytes above 64 KiB.

    Raises: UnsupportedVersion; Unencodable (among them UnsupportedField) for a wrong message, which is
    our own bug.
    """
    cls = message.__class__
    encoder = _encoders.get((cls, version)) or _make_encoder(cls, version)
    return encoder(message)


def prepare_decoder(cls: type[Any], version: int) -> None:
    """Make what `decode` needs at its first use, if it is not there.  Raises: UnsupportedVersion."""
    if (cls, version) not in _decoders:
        _make_decoder(cls, version)


def prepare_narrow_decoder(cls: type[Any], version: int, elements_max: int) -> None:
    """Do the same for `decode_narrow`, of a hot message."""
    if (cls, version, elements_max) not in _narrow_decoders:
        _make_narrow_decoder(cls, version, elements_max)


def prepare_encoder(cls: type[Any], version: int) -> None:
    """Do the same for `encode`."""
    if (cls, version) not in _encoders:
        _make_encoder(cls, version)


def prepare_written(written: Mapping[type[Any], Sequence[int]]) -> None:
    """Make what records of these schemas, each in these versions, need when they are written.

    The module that writes them, on the event loop, calls it when it is imported: a thread does that.
    """
    for cls, versions in written.items():
        prepare_constructors(cls)
        for version in versions:
            prepare_encoder(cls, version)


def size_bytes(buffers: Sequence[Buffer]) -> int:
    """Return the total size in bytes of an encoded message's buffers."""
    return sum(
        len(buffer) if isinstance(buffer, (bytes, bytearray, memoryview)) else buffer.size_bytes
        for buffer in buffers
    )


def joined(buffers: Sequence[Buffer]) -> bytes:
    """Return an encoded message in one piece, for tools and tests; all payloads must be bytes."""
    pieces = [buffer for buffer in buffers if isinstance(buffer, (bytes, bytearray, memoryview))]
    assert len(pieces) == len(buffers), "a payload that lies elsewhere cannot be joined"
    return b"".join(pieces)


def reference_codec(cls: type[Any], version: int) -> Codec:
    """Return the construct codec of a message in one version.

    Raises: UnsupportedVersion.
    """
    found = _references.get((cls, version))
    if found is None:
        from protocol.reference import Codec

        _checked(cls, version)
        found = _references[cls, version] = Codec(cls, version)
    return found


def _checked(cls: type[Any], version: int) -> Declaration:
    declared = declaration(cls)
    if version not in declared.versions:
        raise UnsupportedVersion(-1 if declared.api is None else declared.api, version, cls.__name__)
    return declared


def _make_decoder(cls: type[Any], version: int) -> Decoder:
    if _checked(cls, version).hot:
        from protocol.compiled import compile_decoder

        made = compile_decoder(cls, version)
    else:
        made = reference_codec(cls, version).decode
    _decoders[cls, version] = made
    return made


def _make_narrow_decoder(cls: type[Any], version: int, elements_max: int) -> Decoder:
    if not _checked(cls, version).hot:
        raise too_many(0, cls.__name__, elements_max)
    from protocol.compiled import compile_decoder

    made = _narrow_decoders[cls, version, elements_max] = compile_decoder(cls, version, elements_max)
    return made


def _make_encoder(cls: type[Any], version: int) -> Encoder:
    if _checked(cls, version).hot:
        from protocol.compiled import compile_encoder

        made = compile_encoder(cls, version)
    else:
        made = reference_codec(cls, version).encode
    _encoders[cls, version] = made
    return made
