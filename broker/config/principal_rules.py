"""Rules that make the name of a principal out of a certificate's: `ssl.principal.mapping.rules`.

    DEFAULT                          the whole name
    RULE:pattern/replacement/[LU]    if the pattern matches the whole name: the replacement, in which $1 is
                                     the first group, in lower or upper case if L or U is given

Rules are separated by commas and tried in order.  In pattern and replacement a slash is written `\\/`.
Patterns are those of RE2: they have no look-ahead and no back-references, and take time linear in the name.
Source: KIP-371 and Kafka's SslPrincipalMapper.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

RULE: Final = re.compile(
    r"\s*(?:(?P<default>DEFAULT)"
    r"|RULE:(?P<pattern>(?:\\.|[^\\/])*)/(?P<replacement>(?:\\.|[^\\/])*)/(?P<case>[LU]?))\s*(?:,|$)"
)

_GROUP_OR_SIGN: Final = re.compile(r"\$([0-9])|\\(.)", re.DOTALL)
"""The parts of a replacement that do not stand for themselves."""


class Rule(NamedTuple):
    """One rule; no pattern means DEFAULT."""

    pattern: str | None
    replacement: str = ""
    case: str = ""


def parse_rules(text: str) -> tuple[Rule, ...]:
    """Read the rules.  Raises: ValueError, with one sentence."""
    rules: list[Rule] = []
    position = 0
    text = text.strip().rstrip(",")
    while position < len(text):
        found = RULE.match(text, position)
        if found is None:
            raise ValueError(
                f"{text[position:]!r} is no rule; there are DEFAULT and RULE:pattern/replacement/, for"
                " example RULE:^CN=([^,]+),.*$/$1/L"
            )
        position = found.end()
        if found["default"]:
            rules.append(Rule(None))
            continue
        rule = Rule(found["pattern"], found["replacement"].replace("\\/", "/"), found["case"])
        _compiled(rule)
        rules.append(rule)
    return tuple(rules) or (Rule(None),)


def _compiled(rule: Rule) -> re.Pattern[str]:
    """Return the pattern, compiled by RE2.  Raises: ValueError."""
    import re2  # needed by those who have rules

    assert rule.pattern is not None
    options = re2.Options()
    options.log_errors = False
    try:
        pattern: re.Pattern[str] = re2.compile(rule.pattern.replace("\\/", "/"), options)
    except re2.error as error:
        why = error.args[0].decode(errors="replace") if isinstance(error.args[0], bytes) else str(error)
        raise ValueError(f"the pattern {rule.pattern!r} is wrong: {why}") from error
    parts = _GROUP_OR_SIGN.finditer(rule.replacement)
    wanted = max((int(part[1]) for part in parts if part[1] is not None), default=0)
    if wanted > pattern.groups:
        raise ValueError(
            f"the replacement {rule.replacement!r} names group {wanted}, and the pattern {rule.pattern!r} has"
            f" {pattern.groups}"
        )
    return pattern


def rules_problem(text: object) -> str | None:
    """Return what is wrong with the text of rules, or None."""
    assert isinstance(text, str)
    try:
        parse_rules(text)
    except ValueError as error:
        return str(error)
    return None


class PrincipalMapper:
    """The rules of one listener, compiled once."""

    def __init__(self, text: str) -> None:
        """Take the text of (checked) rules."""
        self._rules = [
            (rule, None if rule.pattern is None else _compiled(rule)) for rule in parse_rules(text)
        ]

    def name_of(self, subject: str) -> str | None:
        """Return the principal's name for a certificate's, None when no rule matches it."""
        for rule, pattern in self._rules:
            if pattern is None:
                return subject
            if pattern.fullmatch(subject) is not None:
                name = _replaced(pattern, rule.replacement, subject)
                return {"L": name.lower(), "U": name.upper()}.get(rule.case, name)
        return None


def _replaced(pattern: re.Pattern[str], replacement: str, subject: str) -> str:
    """Return the name with every match replaced: `.*` matches a name and then its empty end, as in Kafka."""
    parts, position = [], 0
    for found in pattern.finditer(subject):
        parts += [subject[position : found.start()], _filled(replacement, found)]
        position = found.end()
    return "".join([*parts, subject[position:]])


def _filled(replacement: str, found: re.Match[str]) -> str:
    """Return the replacement with the groups in it; a backslash quotes the next character, as in Java."""
    return _GROUP_OR_SIGN.sub(
        lambda part: part[2] if part[1] is None else found[int(part[1])] or "", replacement
    )
