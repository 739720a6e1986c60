"""LIKE and MATCH: patterns are constants of the statement, checked once, and matched in linear time.

LIKE matches all of a text: `%` stands for any characters, `_` for one, and after a backslash (or the
character of ESCAPE) each stands for itself.  Without `_` it is a search for one piece of text after the
other.  RE2 does the rest, and MATCH, in time proportional to the text, and at worst to the pattern's program
as well: some patterns have too many states to be remembered, and take 8 ns for each step at each character.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Final

from views.column_types import BOOL, Kind, Type
from views.errors import TypeProblem
from views.expressions import Expression, literal

PATTERN_LENGTH_MAX: Final = 512
# Memory of one compiled pattern; repetitions like (a{1000}){1000} exceed it and are refused.
_RE2_BYTES_MAX: Final = 512 << 10
_RE2_BYTES: Final = 3 << 10
_STEP_BYTES: Final = 16
# RE2 remembers the states that texts have led to, each a set of steps, up to a part of its memory: 184 KB
# were seen.  Then it forgets them and begins anew.
_STATE_BYTES: Final = 1 << 10
_STATES_BYTES_MAX: Final = 192 << 10
# The steps of a program that are in each state, or in none that a text can lead to: the begin and the end.
_STEPS_OF_NO_CHOICE: Final = 6
_PLAIN: Final = re.compile(r"(\(\?i\))?[\w\s\-/:;,=<>@#%&~!\"'|]*")


def like_expression(value: Expression, pattern: Expression, escape: str, ignore_case: bool) -> Expression:
    """Return `value` LIKE `pattern`."""
    sign = "ILIKE" if ignore_case else "LIKE"
    if (refused := _without_pattern(sign, value, pattern)) is not None:
        return refused
    pieces = _like_pieces(pattern.value, escape)
    if not ignore_case and _ONE not in pieces:
        return _like_of_pieces(value, pieces, pattern.type)
    expression = "".join(_LIKE_PARTS.get(piece) or re.escape(piece[0]) for piece in pieces)
    compiled = _compile(sign, pattern.value, f"(?s{'i' if ignore_case else ''}){expression}")
    # After `%`, each `_` may or may not have been reached by any character before.
    states = len(pieces) << pieces.count(_ONE)
    return Expression("call", BOOL, (value,), value=Pattern(compiled.fullmatch, compiled.programsize, states))


def match_expression(value: Expression, pattern: Expression) -> Expression:
    """Return `value` MATCH `pattern`, a regular expression of RE2 that must match somewhere in the text."""
    if (refused := _without_pattern("MATCH", value, pattern)) is not None:
        return refused
    compiled = _compile("MATCH", pattern.value, pattern.value)
    if _PLAIN.fullmatch(pattern.value):
        # Words to be looked for: a state for each beginning of one.
        states = 1 + len(pattern.value)
    else:
        states = 1 << max(0, compiled.programsize - _STEPS_OF_NO_CHOICE)
    return Expression("call", BOOL, (value,), value=Pattern(compiled.search, compiled.programsize, states))


def _without_pattern(sign: str, value: Expression, pattern: Expression) -> Expression | None:
    """Check both sides; return NULL if one of them is the literal NULL."""
    if Kind.NULL in (value.type.kind, pattern.type.kind):
        return literal(None, BOOL)
    if value.type.kind is not Kind.STRING:
        raise TypeProblem(f"{sign} takes a string, not a {value.type}; CAST it, as in CAST(column AS string)")
    if pattern.op != "literal" or not isinstance(pattern.value, str):
        raise TypeProblem(f"the pattern of {sign} must be a string in the statement")
    if len(pattern.value) > PATTERN_LENGTH_MAX:
        raise TypeProblem(f"the pattern of {sign} has more than {PATTERN_LENGTH_MAX} characters")
    return None


# A piece is a character to be matched (with "=" after it), or one of these two.
_ANY, _ONE = "%", "_"
_LIKE_PARTS: Final = {_ANY: ".*", _ONE: "."}


def _like_pieces(pattern: str, escape: str) -> list[str]:
    pieces: list[str] = []
    escaped = False
    for character in pattern:
        if escaped:
            # Before any other character the escape means nothing, as in PostgreSQL.
            pieces.append(character + "=")
            escaped = False
        elif character == escape:
            escaped = True
        elif character in (_ANY, _ONE):
            if not (character == _ANY and pieces and pieces[-1] == _ANY):
                pieces.append(character)
        else:
            pieces.append(character + "=")
    if escaped:
        raise TypeProblem(f"the pattern {pattern[:40]!r} of LIKE ends with its escape character")
    return pieces


def _like_of_pieces(value: Expression, pieces: list[str], kind: Type) -> Expression:
    """Return LIKE of a pattern without `_`: the texts between its `%`."""
    texts = [""]
    for piece in pieces:
        if piece == _ANY:
            texts.append("")
        else:
            texts[-1] += piece[0]
    if len(texts) == 1:
        return Expression("call", BOOL, (value, literal(texts[0], kind)), value=operator.eq)
    first, *inner, last = texts
    function: Callable[..., bool]
    if not inner and not last:
        function, text = str.startswith, first
    elif not inner and not first:
        function, text = str.endswith, last
    elif not first and not last and len(inner) == 1:
        function, text = operator.contains, inner[0]
    else:
        return Expression("call", BOOL, (value,), value=partial(_in_order, first, tuple(inner), last))
    return Expression("call", BOOL, (value, literal(text, kind)), value=function)


def _in_order(first: str, inner: tuple[str, ...], last: str, text: str) -> bool:
    """Return whether `text` begins and ends so, and has the inner pieces in order between."""
    at, end = len(first), len(text) - len(last)
    if at > end or not text.startswith(first) or not text.endswith(last):
        return False
    for piece in inner:
        at = text.find(piece, at, end)
        if at < 0:
            return False
        at += len(piece)
    return True


def _compile(sign: str, shown: str, pattern: str) -> Any:
    import re2  # 10 ms, and few views need it.

    options = re2.Options()
    options.max_mem = _RE2_BYTES_MAX
    options.log_errors = False
    options.never_capture = True
    try:
        compiled = re2.compile(pattern, options=options)
        # It would keep the last 128 patterns, with their states.
        re2.purge()
        return compiled
    except re2.error as error:
        problem = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise TypeProblem(f"the pattern {shown[:60]!r} of {sign} is not possible: {problem}") from None


class Pattern:
    """A compiled pattern that tells whether a text matches."""

    __slots__ = ("_search", "bytes_max", "program_size")

    def __init__(self, search: Callable[[bytes], Any], program_size: int, states: int) -> None:
        """Make a pattern of so many steps, which may bring RE2 to remember so many states."""
        self._search = search
        self.program_size = program_size
        """The steps of its program, all of which a character may take at worst."""
        used_bytes = min(states * _STATE_BYTES, _STATES_BYTES_MAX)
        self.bytes_max = min(_RE2_BYTES + program_size * _STEP_BYTES + used_bytes, _RE2_BYTES_MAX)
        """The memory that it takes at most, once it has been used."""

    def __call__(self, text: str) -> bool:
        """Whether the text matches."""
        # Given text, the binding would convert the places of the match to characters: 3.7 µs instead of 1.5.
        return self._search(text.encode()) is not None


def program_size(roots: Iterable[Expression]) -> int:
    """Return the steps of all patterns in some expressions, as often as they are evaluated."""
    nodes = (node for root in roots for node in root.walk())
    return sum(node.value.program_size for node in nodes if isinstance(node.value, Pattern))
