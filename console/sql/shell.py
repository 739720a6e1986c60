"""`kawal sql` at a terminal: statements are typed, run when their semicolon comes, and remembered.

Lines are edited, and the words of statements and the names of topics, databases and groups completed, by the
readline of Python's standard library, where it is there; the history is kept in a file of the user's.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, Final

from console.errors import CommandError
from console.sql.results import Format, Result
from console.sql.script import is_complete, statements
from console.sql.session import Session
from console.sql.statements import KEYWORDS, run
from console.sql.system_tables import SCHEMAS, SYSTEM_TABLES

PROMPT: Final = "kawal> "
MORE: Final = "    -> "
HISTORY_LINES: Final = 1_000
LEAVE: Final = ("exit", "quit", "\\q")
WELCOME: Final = "Statements end with a semicolon.  TAB completes words, 'exit' or Ctrl-D leaves."


def show(result: Result, form: Format) -> None:
    """Print an answer; for programs sentences go to standard error."""
    if result.said:
        print(result.said, file=sys.stdout if form is Format.TABLE else sys.stderr)
    else:
        print(result.rendered(form))


class Shell:
    """Statements from a person."""

    def __init__(self, session: Session, form: Format, read_line: Callable[[str], str]) -> None:
        """`read_line(prompt)` returns a line, and raises EOFError at the end."""
        self._session = session
        self._form = form
        self._read_line = read_line

    def loop(self) -> None:
        """Read and run statements until the user leaves; an error ends none but its statement."""
        while (text := self._read_statements()) is not None:
            for written in statements(text):
                try:
                    show(run(self._session, written.text), self._form)
                except CommandError as error:
                    print(error, file=sys.stderr)

    def _read_statements(self) -> str | None:
        """Return lines up to one that ends a statement; None when the user leaves."""
        lines: list[str] = []
        while True:
            try:
                line = self._read_line(MORE if lines else self._prompt())
            except EOFError:
                return None
            except KeyboardInterrupt:
                print()
                lines = []
                continue
            if not lines and line.strip().rstrip(";").lower() in LEAVE:
                return None
            lines.append(line)
            text = "\n".join(lines)
            if is_complete(text):
                return text

    def _prompt(self) -> str:
        return f"kawal:{self._session.database}> " if self._session.database else PROMPT


class Completer:
    """Completion of the word before the cursor: `complete(text, state)`, as readline asks."""

    def __init__(self, names: Callable[[], Iterable[str]]) -> None:
        """`names()` returns the names of topics, databases and groups as they are now."""
        self._names = names
        self._found: list[str] = []

    def complete(self, text: str, state: int) -> str | None:
        """Return the match number `state` of a word, None after the last."""
        if state == 0:
            self._found = self.matches(text)
        return self._found[state] if state < len(self._found) else None

    def matches(self, text: str) -> list[str]:
        """Return what begins with the text, keywords in the case in which they were begun."""
        small = text.islower()
        words = [word.lower() if small else word for word in KEYWORDS if word.startswith(text.upper())]
        names = [name for name in self._names() if name.startswith(text)]
        return [*words, *sorted(names)]


def known_names(session: Session) -> list[str]:
    """Return the names of what exists; none when the server cannot be asked."""
    from console.sql.system_tables import DATABASES, GROUPS

    tables = [f"{schema}.{table}" for schema in SCHEMAS for table in SYSTEM_TABLES]
    try:
        topics = [topic.name for topic in session.topics()]
        others = [str(row[0]) for table in (DATABASES, GROUPS) for row in table.read(session)]
    except CommandError:
        return tables
    return [*topics, *others, *tables]


def history_path() -> str:
    """Return where the history is kept: in $XDG_STATE_HOME, by default ~/.local/state."""
    state = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "kawal", "sql_history")


def prepare_readline(readline: Any, session: Session, path: str) -> Callable[[], None]:
    """Set up editing, completion and the history; return the function that keeps the history."""
    readline.set_completer_delims(" \t\n,;()=")
    readline.set_completer(Completer(lambda: known_names(session)).complete)
    readline.parse_and_bind("tab: complete")
    readline.set_history_length(HISTORY_LINES)
    if os.path.exists(path):
        readline.read_history_file(path)

    def keep() -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        readline.write_history_file(path)
        os.chmod(path, 0o600)

    return keep


def interact(session: Session, form: Format) -> None:
    """Run the shell on the terminal."""
    try:
        import readline
    except ImportError:  # not every Python is built with it; lines are read without editing
        Shell(session, form, input).loop()
        return
    keep = prepare_readline(readline, session, history_path())
    print(WELCOME)
    try:
        Shell(session, form, input).loop()
    finally:
        try:
            keep()
        except OSError as error:
            print(f"the history is not kept: {error}", file=sys.stderr)
