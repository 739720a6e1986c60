"""The parts of an X.509 certificate that TLS listeners need: its names, and the end of its validity.

OpenSSL judges certificates, and has accepted each one that comes here; Python shows of a name neither the
encoded types of its values nor attributes that it does not know.  The reader takes DER (X.690), whose items
are `tag, length, content`:

    Certificate  SEQUENCE { tbs SEQUENCE { [0] version?, serial, signature, issuer, validity, subject, key,
                                           … [3] extensions? } … }
    validity     SEQUENCE { from, until }         UTCTime YYMMDDhhmmssZ or GeneralizedTime YYYYMMDDhhmmssZ
    subject      SEQUENCE OF SET OF SEQUENCE { type OBJECT IDENTIFIER, value }
    extensions   SEQUENCE OF SEQUENCE { type OBJECT IDENTIFIER, critical BOOLEAN?, value OCTET STRING }
    the value of subjectAltName   SEQUENCE OF GeneralName, each with the tag [0] to [8] of its kind

Source: RFC 5280; RFC 2253 for names, with the choices of Java's `X500Principal.getName()`, which are Kafka's.
"""

from __future__ import annotations

from calendar import timegm
from collections.abc import Iterator
from ipaddress import ip_address
from typing import Final, NamedTuple

SEQUENCE: Final = 0x30
SET: Final = 0x31
OBJECT_ID: Final = 0x06
VERSION: Final = 0xA0
EXTENSIONS: Final = 0xA3
UTC_TIME: Final = 0x17
ALTERNATIVE_NAMES: Final = b"\x55\x1d\x11"
"""subjectAltName, 2.5.29.17."""

_KEYWORDS: Final = {
    "2.5.4.3": "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
"""The attributes that have a name; others are shown as numbers with the bytes of their value."""

_ENCODINGS: Final = {
    0x0C: "utf-8",
    0x13: "ascii",  # PrintableString
    0x14: "latin-1",  # TeletexString, as Java reads it
    0x16: "ascii",  # IA5String
    0x1B: "ascii",  # GeneralString
    0x1C: "utf-32-be",  # UniversalString
    0x1E: "utf-16-be",  # BMPString
}

_GENERAL_NAMES: Final = {0x81: "email", 0x82: "DNS", 0x86: "URI", 0x87: "IP"}

_ESCAPED: Final = frozenset(',=+<>#;"\\')


class CertificateError(ValueError):
    """Bytes that are not a certificate."""


class Item(NamedTuple):
    """One DER item; `encoded` is all of it, `content` without tag and length."""

    tag: int
    content: bytes
    encoded: bytes


class Certificate(NamedTuple):
    """A certificate, as far as it is read."""

    subject: str
    """The name by RFC 2253, the most particular part first: `CN=Dave,OU=dev,O=lab`."""
    until_s: int
    """The end of its validity in seconds since 1970."""
    alternative_names: frozenset[str]
    """The names by which clients call the server, with their kinds: `DNS:localhost`, `IP:127.0.0.1`."""


def read_certificate(der: bytes) -> Certificate:
    """Read a certificate.  Raises: CertificateError."""
    try:
        (whole,) = _items(der)
        fields = list(_items(next(_items(whole.content)).content))
        if fields[0].tag == VERSION:
            del fields[0]
        _serial, _signature, _issuer, validity, subject = fields[:5]
        _since, until = _items(validity.content)
        names = frozenset(map(_general_name, _alternative_names(fields[5:])))
        return Certificate(_name(subject), _seconds(until), names)
    except (ValueError, IndexError, StopIteration) as error:
        raise CertificateError(f"these bytes are not a certificate: {error}") from error


def _items(data: bytes) -> Iterator[Item]:
    """Yield the items that lie side by side.  Raises: ValueError."""
    position = 0
    while position < len(data):
        start = position
        tag, length = data[position], data[position + 1]
        position += 2
        if length & 0x80:
            count = length & 0x7F
            if not 0 < count <= 4:
                raise ValueError(f"a length of {count} bytes")
            length = int.from_bytes(data[position : position + count], "big")
            position += count
        if position + length > len(data):
            raise ValueError("an item is longer than what it lies in")
        content = data[position : position + length]
        position += length
        yield Item(tag, content, data[start:position])


def _seconds(time: Item) -> int:
    digits = time.content.decode("ascii").removesuffix("Z")
    if time.tag == UTC_TIME:
        # RFC 5280: 50 to 99 is the last century.
        digits = ("19" if digits[:2] >= "50" else "20") + digits
    if len(digits) != 14 or not digits.isdigit():
        raise ValueError(f"{digits!r} is no time")
    year, rest = int(digits[:4]), digits[4:]
    month, day, hour, minute, second = (int(rest[at : at + 2]) for at in range(0, 10, 2))
    return timegm((year, month, day, hour, minute, second))


def _alternative_names(fields: list[Item]) -> list[Item]:
    """Return the names of the extension subjectAltName, if there is one among the last fields."""
    for field in fields:
        if field.tag != EXTENSIONS:
            continue
        for extension in _items(next(_items(field.content)).content):
            kind, *_critical, value = _items(extension.content)
            if kind.content == ALTERNATIVE_NAMES:
                return list(_items(next(_items(value.content)).content))
    return []


def _general_name(item: Item) -> str:
    """Return a name with its kind; of kinds that servers do not have, the bytes."""
    kind = _GENERAL_NAMES.get(item.tag)
    if kind is None:
        return item.encoded.hex()
    if kind == "IP":
        return f"IP:{ip_address(item.content)}"
    return f"{kind}:{item.content.decode('ascii')}"


def _name(subject: Item) -> str:
    parts = ["+".join(map(_attribute, _items(part.content))) for part in _items(subject.content)]
    return ",".join(reversed(parts))


def _attribute(pair: Item) -> str:
    kind, value = _items(pair.content)
    if kind.tag != OBJECT_ID:
        raise ValueError("an attribute has no type")
    number = _object_id(kind.content)
    keyword = _KEYWORDS.get(number)
    encoding = _ENCODINGS.get(value.tag)
    if keyword is None or encoding is None:
        return f"{keyword or number}=#{value.encoded.hex()}"
    return f"{keyword}={_escaped(value.content.decode(encoding))}"


def _object_id(content: bytes) -> str:
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if not byte & 0x80:
            numbers.append(number)
            number = 0
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, [first, numbers[0] - 40 * first, *numbers[1:]]))


def _escaped(text: str) -> str:
    """Return a value with backslashes before what has a meaning in names, and before blanks at its ends."""
    inner = text.strip(" ")
    if not inner:
        return "\\ " * len(text)
    lead = len(text) - len(text.lstrip(" "))
    trail = len(text) - len(text.rstrip(" "))
    middle = "".join(f"\\{sign}" if sign in _ESCAPED else sign for sign in inner)
    return "\\ " * lead + middle.replace("\0", "\\00") + "\\ " * trail
