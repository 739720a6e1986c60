"""Stacks of threads on one line each, outermost call first.

broker/server/reactor.py:128 turn > broker/core.py:290 resume > broker/handlers/metadata.py:77 handle

`faulthandler` takes them, in one call that keeps the interpreter's lock. To walk over the frames of another
thread in Python is not safe: the lock may pass on in between, and CPython 3.11 has been seen to crash when a
frame was looked at that had ended meanwhile.
"""

from __future__ import annotations

import faulthandler
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Final

FRAMES_MAX: Final = 40
"""The innermost frames shown; a recursion must not fill the log."""

_ROOT: Final = f"{Path(__file__).resolve().parents[2]}/"
_STANDARD: Final = f"{Path(threading.__file__).parent}/"
_LIBRARIES: Final = "/site-packages/"

_THREAD: Final = re.compile(r"(?:Current thread|Thread) 0x([0-9a-f]+)")
_FRAME: Final = re.compile(r'  File "(.*)", line (\S+) in (.*)')


def stack_of(thread_id: int) -> str:
    """Return the present stack of a thread, "" when it has ended; the reason when it cannot be taken."""
    try:
        return dict(_stacks()).get(thread_id, "")
    except OSError as error:
        return f"no stack: {error}"


def all_stacks() -> Iterator[tuple[str, str]]:
    """Yield the name and the present stack of every thread of Python's."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for thread_id, stack in _stacks():
        yield names.get(thread_id, str(thread_id)), stack


def _stacks() -> Iterator[tuple[int, str]]:
    """Yield the number and the stack of each thread."""
    thread_id: int | None = None
    frames: list[str] = []
    for line in _dump().splitlines():
        if found := _THREAD.match(line):
            if thread_id is not None:
                yield thread_id, _text(frames)
            thread_id, frames = int(found[1], 16), []
        elif found := _FRAME.match(line):
            frames.append(f"{_short(found[1])}:{found[2]} {found[3]}")
    if thread_id is not None:
        yield thread_id, _text(frames)


def _dump() -> str:
    """Return what faulthandler writes of all threads, innermost calls first."""
    with _memory_file() as file:
        faulthandler.dump_traceback(file, all_threads=True)
        file.seek(0)
        return file.read().decode("utf-8", "backslashreplace")


def _memory_file() -> IO[bytes]:
    """Return an unnamed file, in memory where there is such a thing: it must work when disks are full."""
    if hasattr(os, "memfd_create"):
        return os.fdopen(os.memfd_create("kawal-stacks"), "w+b")
    return tempfile.TemporaryFile()


def _text(frames: list[str]) -> str:
    shown = frames[:FRAMES_MAX]
    if len(frames) > FRAMES_MAX:
        shown.append("…")
    return " > ".join(reversed(shown))


def _short(path: str) -> str:
    return path.rpartition(_LIBRARIES)[2].removeprefix(_ROOT).removeprefix(_STANDARD)
