"""Reading the prose of a source file: its comments, docstrings and log lines, for the checks of language."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator
from pathlib import Path


def prose_of(path: Path) -> Iterator[tuple[int, str]]:
    """Yield (line number, text) of each comment and each string of several words."""
    source = path.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        is_text = token.type == tokenize.STRING and " " in token.string
        if token.type == tokenize.COMMENT or is_text:
            yield from enumerate(token.string.splitlines(), token.start[0])
