"""The line of a job file that a sentence is about: of a key that it names, or of a value that it repeats."""

from __future__ import annotations

import re

SHORTEST_VALUE = 3
"""Shorter values, as `1g`, are found in sentences about something else."""

_SENTENCE_LETTERS = 2_000
"""The part of a sentence that is looked at: what follows is the rest of a value without end."""

_HEADING = re.compile(r"\s*\[\[?\s*([\w.\"'-]+)\s*\]")
_KEY = re.compile(r"\s*((?:[\w.-]+|\"[^\"]+\"|'[^']+')+)\s*=(.*)")
_QUOTED = re.compile(r"\"([^\"]+)\"|'([^']+)'")
_DOTTED = re.compile(r"\[?[A-Za-z_][\w-]*(?:\.[\w-]+)+\]?")
_OPTION = re.compile(r"'([\w.-]+)'")
_NAME = re.compile(r"['\[]?[A-Za-z_][\w-]*\b")


def line_of(text: str, sentence: str) -> int:
    """Return the line of the key, as `table.key`, that `sentence` names; 0 when the file has none.

    A key that the file does not have is looked for in the line of its table.
    """
    lines = _lines(text)
    sentence = sentence[:_SENTENCE_LETTERS]
    dotted = [name.strip("[].") for name in _DOTTED.findall(sentence)]
    if dotted and (option := _OPTION.search(sentence)) and (found := lines.get(f"{dotted[0]}.{option[1]}")):
        return found  # "source.options has 'kafka.x'": a table of its own, with a line for each option
    for name in dotted:
        if name in lines:
            return lines[name]
    for name in dotted:
        if (table := name.rpartition(".")[0]) in lines:
            return lines[table]
    for name in _NAME.findall(sentence):
        # A bare word may be any; a table is in quotes, in brackets, or what the sentence begins with.
        if (name[0] in "['" or sentence.startswith(name)) and (found := lines.get(name.lstrip("['"))):
            return found
    return 0


def line_of_value(text: str, sentence: str) -> int:
    """Return the line of the first value of the file that `sentence` repeats; 0 when it repeats none."""
    sentence = sentence[:_SENTENCE_LETTERS]
    found: list[tuple[int, int, int]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if (key := _KEY.match(line)) is None:
            continue
        for double, single in _QUOTED.findall(key[2]):
            value = (double or single).removeprefix("./").rstrip("/")
            place = re.search(rf"(?<![\w.-]){re.escape(value)}(?![\w-])", sentence)
            if place is not None and len(value) >= SHORTEST_VALUE:
                found.append((place.start(), -len(value), number))
    return min(found)[2] if found else 0


def _lines(text: str) -> dict[str, int]:
    """Return the lines of tables and of keys, as `table.key`."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.match(line):
            table = heading[1].replace('"', "").replace("'", "")
            lines.setdefault(table, number)
        elif key := _KEY.match(line):
            name = key[1].replace('"', "").replace("'", "")
            lines.setdefault(f"{table}.{name}" if table else name, number)
    return lines
