"""Login modules as Kafka's `sasl.jaas.config` has them: one module, a flag, options, a semicolon.

    org.apache.kafka.common.security.plain.PlainLoginModule required
      username="broker" password="…" user_alice="secret" user_bob='other';

Of a server's modules only the options `user_NAME` mean something here; nothing is loaded by a class name.
Source: JaasConfig of Kafka 4.3, which reads tokens by Java's StreamTokenizer.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from broker.config.sasl_names import OAUTHBEARER, PLAIN, SCRAM

MODULES: Final = {
    "org.apache.kafka.common.security.plain.PlainLoginModule": (PLAIN,),
    "org.apache.kafka.common.security.scram.ScramLoginModule": SCRAM,
    "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule": (OAUTHBEARER,),
}
"""The login modules that may be named, with their mechanisms."""

_FLAGS: Final = ("required", "requisite", "sufficient", "optional")
_USER: Final = "user_"

_TOKEN: Final = re.compile(
    r"\s+|//[^\n]*|/\*.*?\*/"
    r'|"(?P<double>(?:[^"\\\n]|\\.)*)"'
    r"|'(?P<single>(?:[^'\\\n]|\\.)*)'"
    r"|(?P<word>[\w.$\-]+)|(?P<sign>[=;])",
    re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
END: Final = (";", True)
EQUALS: Final = ("=", True)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "a": "\a", "v": "\v"}


class LoginModule(NamedTuple):
    """A module and its options; it is not shown, because options are secrets."""

    name: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"LoginModule({self.name}, {len(self.options)} options)"

    @property
    def users(self) -> dict[str, str]:
        """The passwords by name."""
        named = ((name, value) for name, value in self.options.items() if name.startswith(_USER))
        return {name.removeprefix(_USER): value for name, value in named}


def read_module(text: str) -> LoginModule:
    """Read the text.  Raises: ValueError, with one sentence that has no part of the text."""
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] != END or END in tokens[:-1]:
        raise ValueError("it must be one login module, a flag, options, and ';' at the end")
    (name, _), (flag, _), *rest = tokens[:-1]
    if name not in MODULES:
        raise ValueError(f"its login module is none of {', '.join(MODULES)}")
    if flag.lower() not in _FLAGS:
        raise ValueError(f"after the login module one of {', '.join(_FLAGS)} is needed")
    options: dict[str, str] = {}
    while rest:
        if len(rest) < 3 or rest[1] != EQUALS or EQUALS in (rest[0], rest[2]):
            raise ValueError(f"option {len(options) + 1} is not NAME=VALUE")
        options[rest[0][0]] = rest[2][0]
        rest = rest[3:]
    return LoginModule(name, options)


def module_problem(text: object) -> str | None:
    """Return what is wrong with the text, or None."""
    try:
        read_module(str(text))
    except ValueError as error:
        return str(error)
    return None


def _tokens(text: str) -> list[tuple[str, bool]]:
    """Return the words, signs and quoted texts, each with whether it is a sign."""
    found: list[tuple[str, bool]] = []
    position = 0
    while position < len(text):
        token = _TOKEN.match(text, position)
        if token is None:
            raise ValueError(f"character {position + 1} is not expected; put values into double quotes")
        position = token.end()
        quoted = token["double"] if token["double"] is not None else token["single"]
        if quoted is not None:
            found.append((_ESCAPE.sub(_character, quoted), False))
        elif token["word"] or token["sign"]:
            found.append((token[0], token["sign"] is not None))
    return found


def _character(escape: re.Match[str]) -> str:
    sign = escape[1]
    if sign[0] in "01234567":
        return chr(int(sign, 8))
    return _ESCAPED.get(sign, sign)
