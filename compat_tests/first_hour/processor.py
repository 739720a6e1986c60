"""The processor time of `kawal produce` and `kawal consume` for very many records, beside kcat's."""

from __future__ import annotations

import resource
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

RECORDS: Final = 1_000_000
RECORD_BYTES: Final = 100
SECONDS_MAX: Final = 300


class Case(NamedTuple):
    """The words of our command and of kcat, which read the file; what they print is discarded."""

    ours: tuple[str, ...]
    kcat: tuple[str, ...]


CASES: Final = (
    Case(("produce", "ours"), ("-P", "-t", "theirs")),
    Case(("consume", "ours"), ("-C", "-t", "ours", "-e", "-q")),
    Case(("consume", "ours", "--json"), ("-C", "-t", "ours", "-e", "-q", "-J")),
    Case(("consume", "ours", "--format", "%o %s\\n"), ("-C", "-t", "ours", "-e", "-q", "-f", "%o %s\\n")),
)


def records(path: Path) -> None:
    """Write the file of records, one a line."""
    with path.open("w") as file:
        for number in range(RECORDS):
            file.write(f"{number:0{RECORD_BYTES}}\n")


def processor_seconds(command: Sequence[object], folder: Path) -> float:
    """Run a command to its end and return the processor time that it took.  Raises: RuntimeError."""
    before = _used()
    with (folder / "records").open("rb") as file:
        ended = subprocess.run(
            [str(word) for word in command],
            stdin=file,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=SECONDS_MAX,
            check=False,
        )
    if ended.returncode:
        raise RuntimeError(f"{command} ended with {ended.returncode}: {ended.stderr!r}")
    return _used() - before


def _used() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
