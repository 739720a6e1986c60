"""The headers of requests and answers.

    request v1   api_key:int16 api_version:int16 correlation_id:int32 client_id:nullable string
    request v2   the same, then tagged fields        for flexible versions of a request
    answer v0    correlation_id:int32
    answer v1    the same, then tagged fields        for flexible versions, except ApiVersions: always v0

`client_id` keeps its int16 length even in v2, so that a broker can read the header of any request
in any version.
Source: Kafka's RequestHeader.json and ResponseHeader.json; KIP-482, KIP-511 (the ApiVersions exception).
"""

from __future__ import annotations

from struct import Struct

from protocol.api_keys import FIRST_FLEXIBLE_VERSION, NEVER_FLEXIBLE, ApiKey
from protocol.errors import Malformed
from protocol.primitives import bad_string, read_tags, read_uvarint, too_short

_REQUEST = Struct(">hhlh")
_CORRELATION_ID = Struct(">l")
_FIELDS = (("api_key", 2), ("api_version", 2), ("correlation_id", 4), ("client_id", 2))
_PATH = "RequestHeader"


class RequestHeader:
    """The header that begins every request; `size_bytes` is the position of the body."""

    __slots__ = ("api_key", "api_version", "client_id", "correlation_id", "size_bytes")

    def __init__(
        self, *, api_key: int, api_version: int, correlation_id: int, client_id: str | None, size_bytes: int
    ) -> None:
        self.api_key = api_key
        self.api_version = api_version
        self.correlation_id = correlation_id
        self.client_id = client_id
        self.size_bytes = size_bytes

    def __repr__(self) -> str:
        return (
            f"RequestHeader(api_key={self.api_key}, api_version={self.api_version}, "
            f"correlation_id={self.correlation_id}, client_id={self.client_id!r}, "
            f"size_bytes={self.size_bytes})"
        )


def is_flexible(api_key: int, api_version: int) -> bool:
    """Return whether a request has compact lengths and tagged fields; one with an unknown key has none."""
    return api_version >= FIRST_FLEXIBLE_VERSION.get(api_key, NEVER_FLEXIBLE)


def decode_request_header(data: memoryview) -> RequestHeader:
    """Read the header at the beginning of a request, also of unknown requests and versions.

    Its tagged fields are checked and skipped: none is defined for clients.
    Raises: Malformed.
    """
    if len(data) < 10:
        raise _short(len(data))
    api_key, api_version, correlation_id, length = _REQUEST.unpack_from(data)
    position = 10
    client_id = None
    if length >= 0:
        position += length
        if position > len(data):
            raise bad_string(10, f"{_PATH}.client_id", length, len(data) - 10)
        # Bytes that are no UTF-8 become U+FFFD, as in Kafka's Java: clients name themselves as they like.
        client_id = str(data[10:position], "utf-8", "replace")
    elif length != -1:
        raise bad_string(10, f"{_PATH}.client_id", length, len(data) - 10)
    if api_version >= FIRST_FLEXIBLE_VERSION.get(api_key, NEVER_FLEXIBLE):
        position = _pass_tags(data, position)
    return RequestHeader(
        api_key=api_key,
        api_version=api_version,
        correlation_id=correlation_id,
        client_id=client_id,
        size_bytes=position,
    )


def _short(size_bytes: int) -> Malformed:
    """Return the error that names the first field for which a message of `size_bytes` has no room."""
    position = 0
    for name, size in _FIELDS:
        if position + size > size_bytes:
            return too_short(position, f"{_PATH}.{name}", size, size_bytes - position)
        position += size
    raise AssertionError(f"{size_bytes} bytes have room for all fields")


class _Unkept:
    """A target for tagged fields that are not kept."""

    unknown_tags: object = None


def _pass_tags(data: memoryview, position: int) -> int:
    if position < len(data) and not data[position]:
        return position + 1
    count, position = read_uvarint(data, position, f"{_PATH}.unknown_tags")
    limit = len(data)
    return read_tags(
        data, position, count, limit, target=_Unkept(), known={}, path=_PATH, elements_max=limit
    )[0]


def encode_request_header(
    *, api_key: int, api_version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return the header to put before a request of this version."""
    raw = b"" if client_id is None else client_id.encode()
    length = -1 if client_id is None else len(raw)
    tags = b"\x00" if is_flexible(api_key, api_version) else b""
    return _REQUEST.pack(api_key, api_version, correlation_id, length) + raw + tags


def encode_response_header(api_key: int, api_version: int, correlation_id: int) -> bytes:
    """Return the header to put before the answer to a request of this version."""
    if _has_response_tags(api_key, api_version):
        return _CORRELATION_ID.pack(correlation_id) + b"\x00"
    return _CORRELATION_ID.pack(correlation_id)


def decode_response_header(api_key: int, api_version: int, data: memoryview) -> tuple[int, int]:
    """Return the correlation id of an answer and the position of its body.

    Raises: Malformed.
    """
    if len(data) < 4:
        raise too_short(0, "ResponseHeader.correlation_id", 4, len(data))
    (correlation_id,) = _CORRELATION_ID.unpack_from(data)
    if _has_response_tags(api_key, api_version):
        return correlation_id, _pass_tags(data, 4)
    return correlation_id, 4


def _has_response_tags(api_key: int, api_version: int) -> bool:
    return api_key != ApiKey.API_VERSIONS and is_flexible(api_key, api_version)
