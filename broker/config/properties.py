"""Files of Java's properties, as Kafka's brokers and the clients among its tools take their settings in.

    # a comment, as after !
    key=value, key: value or key value; a backslash at the end of a line goes on in the next

Source: java.util.Properties.load.  Files are UTF-8 here.  Java takes their bytes for ISO 8859-1, and so does
`read_properties` for a broker's file that is not UTF-8.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from broker.config.config_keys import ConfigProblem

FILE_BYTES_MAX: Final = 1 << 20
"""No settings are larger, even with certificates in them."""

_BLANK: Final = " \t\f"
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.)|$)", re.DOTALL)
_WRONG_ESCAPE: Final = re.compile(r"(?<!\\)(?:\\\\)*\\u(?![0-9a-fA-F]{4})")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}
_KEY: Final = re.compile(r"(?P<key>(?:[^\\=: \t\f]|\\.)*)[ \t\f]*[=:]?[ \t\f]*(?P<value>.*)", re.DOTALL)


class Property(NamedTuple):
    """A key with its value, which may be a secret, and its place."""

    key: str
    value: str
    place: str

    def __repr__(self) -> str:
        return f"Property({self.key} in {self.place})"


class PropertiesFileError(ConfigProblem):
    """A file of properties that cannot be read."""


def read_properties(path: str, *, other_encoding: str | None = None) -> list[Property]:
    """Return the properties of a file in its order; `other_encoding` is that of a file that is not UTF-8.

    Raises: PropertiesFileError.
    """
    try:
        with open(path, "rb") as stream:
            content = stream.read(FILE_BYTES_MAX + 1)
        text = _decoded(content, other_encoding)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise PropertiesFileError(f"cannot read {path}: {reason}") from error
    if len(content) > FILE_BYTES_MAX:
        raise PropertiesFileError(f"{path} is larger than {FILE_BYTES_MAX} bytes; name a file of settings")
    return list(parsed(text, path))


def _decoded(content: bytes, other_encoding: str | None) -> str:
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        if other_encoding is None:
            raise
        return content.decode(other_encoding)


def parsed(text: str, name: str) -> Iterator[Property]:
    """Yield the properties in the text of the file of that name.

    Raises: PropertiesFileError, as Java does, for an escape that is none.
    """
    for number, line in _logical_lines(text):
        if _WRONG_ESCAPE.search(line):
            raise PropertiesFileError(f"{name}, line {number}: after \\u four hexadecimal digits are needed")
        found = _KEY.fullmatch(line)
        assert found is not None
        yield Property(_plain(found["key"]), _plain(found["value"]), f"{name}, line {number}")


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines with those that continue them, without comments, and the number of the first."""
    first, collected, goes_on = 0, "", False
    for number, raw in enumerate(re.split("\r\n|\r|\n", text), 1):
        line = raw.lstrip(_BLANK)
        # After a line of nothing but a backslash none has begun.
        if not collected:
            first, goes_on = number, False
            if not line or line[0] in "#!":
                continue
        goes_on = (len(line) - len(line.rstrip("\\"))) % 2 == 1
        if goes_on:
            collected += line[:-1]
            continue
        yield first, collected + line
        collected = ""
    if goes_on:
        yield first, collected


def _plain(text: str) -> str:
    plain = _ESCAPE.sub(_character, text)
    if _SURROGATE.search(plain) is None:
        return plain
    # Java writes characters above U+FFFF as two escapes.
    return plain.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(escape: re.Match[str]) -> str:
    if escape[1]:
        return chr(int(escape[1], 16))
    sign = escape[2] or ""
    return _ESCAPED.get(sign, sign)
