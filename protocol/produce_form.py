"""The parts of a Produce request with one batch for one partition, found without decoding it.

    kind: api, version | correlation id | client: id, tags | head: acks, timeout, topic, partition | batch
    `- the same -----'                    `----- the same for one client and one partition -----'

Versions before 9 have lengths of a fixed size where later ones have compact ones, and no tags.
"""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from protocol.batch_check import ZSTD_SINCE_VERSION
from protocol.headers import RequestHeader, decode_request_header
from protocol.records import HEADER_BYTES

FLEXIBLE_SINCE_VERSION: Final = 9
"""From here on lengths are compact; before, they have a fixed size."""

TOPIC_IDS_SINCE_VERSION: Final = 13

ONE: Final = 2
"""The length of a compact array with one element."""

LONGEST_NAME: Final = 0x80
"""Names of which the length takes one byte are shorter."""

TAIL: Final = b"\0\0\0"
"""The tagged fields of partition, topic and request: none."""

NO_ID: Final = -1
"""The length of a transactional id that is not there before version 9, and of a client id."""

CLIENT_ID_BYTES_MAX: Final = 256
"""A longer client id is left to the decoder: a form is kept as long as its connection."""

_REQUEST: Final = Struct(">hhih")
"""API, version, correlation id, length of the client id."""

_OLD_HEAD: Final = Struct(">hhiih")
"""Length of the transactional id, acks, timeout, number of topics, length of the first one's name."""

_OLD_LENGTH: Final = Struct(">i")


def head_end(version: int, data: memoryview, position: int) -> int:
    """Return the end of the head that begins at `position`; -1: the request is not of this form."""
    if version < FLEXIBLE_SINCE_VERSION:
        return _old_head_end(data, position)
    if len(data) < position + HEADER_BYTES or data[position] or data[position + 7] != ONE:
        return -1
    if version >= TOPIC_IDS_SINCE_VERSION:
        partitions = position + 8 + 16
    else:
        length = data[position + 8]
        if not 1 < length < LONGEST_NAME:
            return -1
        partitions = position + 8 + length
    end = partitions + 5
    if len(data) < end + HEADER_BYTES or data[partitions] != ONE:
        return -1
    return end


def _old_head_end(data: memoryview, position: int) -> int:
    if len(data) < position + HEADER_BYTES:
        return -1
    id_length, _acks, _timeout_ms, topics, name_length = _OLD_HEAD.unpack_from(data, position)
    if id_length != NO_ID or topics != 1 or not 0 < name_length < LONGEST_NAME:
        return -1
    partitions: int = position + _OLD_HEAD.size + name_length
    end = partitions + 8
    if len(data) < end + HEADER_BYTES or _OLD_LENGTH.unpack_from(data, partitions)[0] != 1:
        return -1
    return end


def old_batch_in(data: memoryview, position: int) -> memoryview | None:
    """Return the batch whose length of 4 bytes is at `position`, if nothing follows it."""
    length = _OLD_LENGTH.unpack_from(data, position)[0]
    position += 4
    if length < HEADER_BYTES or position + length != len(data):
        return None
    return data[position:]


def batch_in(data: memoryview, position: int) -> memoryview | None:
    """Return the batch whose compact length is at `position`, if it is below 2 MiB and nothing follows it."""
    length = data[position]
    position += 1
    if length & 0x80:
        length = length & 0x7F | data[position] << 7
        position += 1
        if length & 0x4000:
            length = length & 0x3FFF | data[position] << 14
            position += 1
            if length & 0x200000:
                return None
    stop = position + length - 1
    if length <= HEADER_BYTES or stop + len(TAIL) != len(data) or bytes(data[stop:]) != TAIL:
        return None
    return data[position:stop]


Parts = Callable[[memoryview], tuple[bytes, int, bytes, bytes]]


class RequestForm:
    """The places of the parts in the requests of one client that have a head of this size."""

    __slots__ = ("batch_in", "client", "end", "header", "kind", "knows_zstd", "parts", "version")

    def __init__(self, data: memoryview, body: int, end: int, version: int) -> None:
        """Make the form of the request `data`, whose head lies between the positions `body` and `end`."""
        self.version = version
        self.end = end
        self.parts: Parts = Struct(f">4si{body - 8}s{end - body}s").unpack_from
        """Returns the kind of a request (its API and version), its correlation id, its client, its head."""
        self.kind, _, self.client, _ = self.parts(data)
        self.header: RequestHeader = decode_request_header(data)
        self.knows_zstd = version >= ZSTD_SINCE_VERSION
        self.batch_in = batch_in if version >= FLEXIBLE_SINCE_VERSION else old_batch_in


def maybe_form(data: memoryview) -> RequestForm | None:
    """Return the form of a Produce request; None if it has another one, or is wrong."""
    if len(data) < HEADER_BYTES:
        return None
    _api_key, version, _correlation_id, id_length = _REQUEST.unpack_from(data)
    if not NO_ID <= id_length <= CLIENT_ID_BYTES_MAX:
        return None
    body = _REQUEST.size + max(0, id_length)
    if version >= FLEXIBLE_SINCE_VERSION:
        if body >= len(data) or data[body]:
            return None
        body += 1
    end = head_end(version, data, body)
    return None if end < 0 else RequestForm(data, body, end, version)
