"""Configuration keys: type, default, range, documentation, and how a value is read from text.

One `Key` describes a key of the server (server_keys.py), of a topic (topic_keys.py), of a group
(group_keys.py), of a database (database_keys.py) or one that only Kafka has (kafka_keys.py).  The rules for
reading text are Kafka's (`ConfigDef.parseType`): blanks around a value are dropped, booleans ignore case, a
list is split at commas.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import lru_cache
from heapq import nlargest
from itertools import islice, pairwise
from typing import Final, NamedTuple

SIMILARITY_MIN: Final = 0.6
"""The least likeness (difflib's ratio) at which a known name is suggested."""

NEARLY_KNOWN_MAX: Final = 100
"""The longest name, in characters, for which a known one is suggested."""

COMPARED_MAX: Final = 10
"""The most names that are compared letter by letter: of 30 letters, 0.1 ms each."""

CANDIDATES_MAX: Final = 500
"""The most known names that are looked at: all keys, or the first of many topics."""

_DOUBLE = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?[fFdD]?")
_TYPE_NAMES = ("boolean", "string", "int", "short", "long", "double", "list", "class", "password")

Value = bool | int | float | str | tuple[str, ...] | None
"""A typed value.  None means "not set", which only keys with default None can be."""


class Setting(NamedTuple):
    """One value as it was written, and where."""

    name: str
    raw: object
    source: str


class ConfigType(IntEnum):
    """Type of a key; the numbers are those of DescribeConfigs v3+ (KIP-569)."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    SHORT = 4
    LONG = 5
    DOUBLE = 6
    LIST = 7
    CLASS = 8
    PASSWORD = 9

    @property
    def text(self) -> str:
        """The lower-case name for people."""
        return _TYPE_NAMES[self - 1]


class ConfigSource(IntEnum):
    """The source of an effective value; the numbers are those of DescribeConfigs v1+ (KIP-226)."""

    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    GROUP_CONFIG = 8


class ConfigProblem(ValueError):
    """The configuration cannot be used; `str()` is one sentence for the user.

    ConfigProblem
    ├── ConfigError        a key that does not exist, or a value it cannot take
    └── ConfigFileError    a file that cannot be read  (config_sources.py)
    """


class ConfigError(ConfigProblem):
    """A key that does not exist, or a value it cannot take; `str()` is one sentence for the user.

    `nearest` is the known key most like an unknown one, `source` where the setting was made (`kawal.toml:7`,
    `environment variable KAWAL_X`, `--set`), each "" when there is none.  `kafka` is what Apache Kafka 4.3.1
    says about the same error, for clients and tools that look for its words.
    """

    def __init__(
        self,
        name: str,
        value: object,
        reason: str,
        *,
        nearest: str = "",
        source: str = "",
        secret: bool = False,
        kafka: str = "",
    ) -> None:
        self.name = name
        self.value = value
        self.reason = reason
        self.nearest = nearest
        self.source = source
        self.secret = secret
        self.kafka = kafka
        super().__init__(self._sentence())

    @property
    def for_client(self) -> str:
        """The error as a client reads it: Kafka's words where Kafka has some, and the nearest known key."""
        hint = f"; did you mean {self.nearest!r}?" if self.nearest else ""
        return self.kafka + hint if self.kafka else str(self)

    def _sentence(self) -> str:
        where = f"{self.source}: " if self.source else ""
        if self.value is None:
            hint = f"; did you mean {self.nearest!r}?" if self.nearest else ""
            return f"{where}{self.name!r} {self.reason}{hint}"
        shown = "(hidden)" if self.secret else repr(self.value)
        return f"{where}invalid value {shown} for {self.name!r}: {self.reason}"

    def at(self, source: str) -> ConfigError:
        """Return the same error with the place of the setting."""
        return ConfigError(
            self.name,
            self.value,
            self.reason,
            nearest=self.nearest,
            source=source,
            secret=self.secret,
            kafka=self.kafka,
        )


@dataclass(frozen=True, slots=True)
class Key:
    """One configuration key.

    `unit` is a word for people (`ms`, `bytes`); `dynamic` tells whether AlterConfigs may change it on a
    running server; `synonyms` are the server keys it falls back to, nearest first; `kafka` names
    Kafka's nearest key to one of ours; `check` returns what is wrong with a typed value, or None.
    """

    name: str
    type: ConfigType
    default: Value
    doc: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    dynamic: bool = False
    synonyms: tuple[str, ...] = ()
    kafka: str = ""
    check: Callable[[Value], str | None] | None = None

    @property
    def sensitive(self) -> bool:
        """Whether the value must never be shown."""
        return self.type is ConfigType.PASSWORD

    @property
    def is_list(self) -> bool:
        """Whether values can be added and removed one by one."""
        return self.type is ConfigType.LIST

    @property
    def kafka_name(self) -> str:
        """Kafka's name for the key, or for the nearest to one of ours; "" when there is none."""
        return self.kafka if self.name.startswith("kawal.") else self.name

    def parse(self, raw: object) -> Value:
        """Return the typed value of `raw`, which is text (Kafka's form) or a value of a TOML file.

        Raises: ConfigError.
        """
        if raw is None:
            if self.default is None:
                return None
            raise self._error("null", "a value is needed")
        return self._validated(raw, _READERS[self.type](raw))

    def range_text(self) -> str:
        """Return the allowed values in words, "" when every value of the type is allowed."""
        if self.choices:
            joined = ", ".join(choice for choice in self.choices if choice)
            return f"a list of {joined}" if self.type is ConfigType.LIST else f"one of {joined}"
        if self.minimum is not None and self.maximum is not None:
            return f"between {self.minimum} and {self.maximum}"
        if self.minimum is not None:
            return f"at least {self.minimum}"
        return "" if self.maximum is None else f"at most {self.maximum}"

    def _validated(self, raw: object, value: Value) -> Value:
        if value is None:
            raise self._error(raw, f"must be of type {self.type.text}", kafka=_type_problem(self.type))
        problem = self.check(value) if self.check else None
        if problem:
            raise self._error(raw, problem)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            problem = self._range_problem(value)
            if problem:
                raise self._error(
                    raw, f"must be {self.range_text() or 'a number'}", kafka=problem, shown=value
                )
        members = value if isinstance(value, tuple) else (value,)
        foreign = [member for member in members if self.choices and member not in self.choices]
        if foreign:
            allowed = f"String must be one of: {', '.join(self.choices)}"
            raise self._error(raw, f"must be {self.range_text()}", kafka=allowed, shown=foreign[0])
        return value

    def _range_problem(self, value: float) -> str | None:
        """Return what is wrong with a number, in Kafka's words."""
        if value != value:  # true of NaN only
            return _type_problem(self.type)
        if self.minimum is not None and value < self.minimum:
            return f"Value must be at least {self.minimum}"
        if self.maximum is not None and value > self.maximum:
            return f"Value must be no more than {self.maximum}"
        return None

    def _error(self, raw: object, reason: str, *, kafka: str = "", shown: Value = None) -> ConfigError:
        """Return the error; `shown` is the part of the value that Kafka names."""
        named = "[hidden]" if self.sensitive else raw if shown is None else shown
        sentence = f"Invalid value {named} for configuration {self.name}: {kafka or reason}"
        if shown == "":
            sentence = f"Configuration {self.name!r} values must not be empty."
        return ConfigError(self.name, raw, reason, secret=self.sensitive, kafka=sentence)


def _type_problem(kind: ConfigType) -> str:
    """Return what Kafka says about text that is not of the type."""
    if kind is ConfigType.BOOLEAN:
        return "Expected value to be either true or false"
    return f"Not a number of type {kind.name}"


def text_of(value: Value) -> str | None:
    """Return a typed value as Kafka writes it on the wire and in its files."""
    match value:
        case None:
            return None
        case bool():
            return "true" if value else "false"
        case tuple():
            return ",".join(value)
        case float():
            return _java_double(value)
        case _:
            return str(value)


def _java_double(value: float) -> str:
    """Return a number as Java's `Double.toString` writes it: 0.5, 1.0E-4, 1.0E7."""
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    from decimal import Decimal  # such numbers are rare

    mantissa, _, exponent = f"{Decimal(repr(value)):e}".partition("e")
    return f"{mantissa if '.' in mantissa else mantissa + '.0'}E{int(exponent)}"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the known key most like `name`, or "" when none is similar.

    A name may have 32 KB and come 25,000 times in a request, and there may be as many known ones: only names
    of similar length are looked at, the first CANDIDATES_MAX of them, and of these those compared letter by
    letter that have most pairs of letters in common; the last results are remembered.
    """
    wanted = name.strip().lower().replace("_", ".").replace("-", ".")
    size = len(wanted)
    if size > NEARLY_KNOWN_MAX:
        return ""
    similar = (key for key in known if 2 * min(size, len(key)) >= SIMILARITY_MIN * (size + len(key)))
    return _nearest(wanted, tuple(islice(similar, CANDIDATES_MAX)))


@lru_cache(maxsize=64)
def _nearest(wanted: str, known: tuple[str, ...]) -> str:
    import difflib  # only needed to word an error

    pairs = _pairs(wanted)
    likely = nlargest(COMPARED_MAX, known, key=lambda key: len(pairs & _pairs(key)) / len(key or "x"))
    found = difflib.get_close_matches(wanted, likely, n=1, cutoff=SIMILARITY_MIN)
    return found[0] if found else ""


@lru_cache(maxsize=1024)
def _pairs(name: str) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(name))


def _read_boolean(raw: object) -> Value:
    if isinstance(raw, bool):
        return raw
    words = {"true": True, "false": False}
    return words.get(raw.strip().lower()) if isinstance(raw, str) else None


def _integer_reader(bits: int) -> Callable[[object], Value]:
    limit = 1 << (bits - 1)

    def read(raw: object) -> Value:
        if isinstance(raw, bool) or not isinstance(raw, (int, str)):
            return None
        text = str(raw).strip()
        digits = text[1:] if text[:1] in ("+", "-") else text
        # int() alone would also take "1_000", other scripts' digits and a million digits.
        if not (digits.isascii() and digits.isdigit() and len(digits) <= 40):
            return None
        number = int(text)
        return number if -limit <= number < limit else None

    return read


def _read_double(raw: object) -> Value:
    if isinstance(raw, str):
        # Java reads "1.5f" and "1d" too, and neither "1_0" nor "infinity", which float() takes.
        return float(raw.strip().rstrip("fFdD")) if _DOUBLE.fullmatch(raw.strip()) else None
    return float(raw) if isinstance(raw, (int, float)) and not isinstance(raw, bool) else None


def _read_string(raw: object) -> Value:
    return raw.strip() if isinstance(raw, str) else None


def _read_list(raw: object) -> Value:
    if isinstance(raw, str):
        return tuple(part.strip() for part in raw.split(",")) if raw.strip() else ()
    if isinstance(raw, (list, tuple)) and all(isinstance(part, str) for part in raw):
        return tuple(part.strip() for part in raw)
    return None


_READERS: dict[ConfigType, Callable[[object], Value]] = {
    ConfigType.BOOLEAN: _read_boolean,
    ConfigType.STRING: _read_string,
    ConfigType.INT: _integer_reader(32),
    ConfigType.SHORT: _integer_reader(16),
    ConfigType.LONG: _integer_reader(64),
    ConfigType.DOUBLE: _read_double,
    ConfigType.LIST: _read_list,
    ConfigType.CLASS: _read_string,
    ConfigType.PASSWORD: _read_string,
}
