"""Stacks of threads on one line each, outermost call first.

broker/server/reactor.py:128 turn > broker/core.py:290 resume > broker/handlers/metadata.py:77 handle
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Final

FRAMES_MAX: Final = 40
"""The innermost frames shown; a recursion must not fill the log."""

_ROOT: Final = f"{Path(__file__).resolve().parents[2]}/"
_STANDARD: Final = f"{Path(threading.__file__).parent}/"
_LIBRARIES: Final = "/site-packages/"


def stack_text(frame: FrameType | None) -> str:
    """Return the stack of a frame; the thread may go on meanwhile."""
    lines: list[str] = []
    while frame is not None and len(lines) < FRAMES_MAX:
        code = frame.f_code
        lines.append(f"{_short(code.co_filename)}:{frame.f_lineno} {code.co_name}")
        frame = frame.f_back
    if frame is not None:
        lines.append("…")
    return " > ".join(reversed(lines))


def stack_of(thread_id: int) -> str:
    """Return the present stack of a thread, "" when it has ended."""
    return stack_text(sys._current_frames().get(thread_id))


def all_stacks() -> Iterator[tuple[str, str]]:
    """Yield the name and the present stack of every thread of Python's."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    for thread_id, frame in sys._current_frames().items():
        yield names.get(thread_id, str(thread_id)), stack_text(frame)


def _short(path: str) -> str:
    return path.rpartition(_LIBRARIES)[2].removeprefix(_ROOT).removeprefix(_STANDARD)
