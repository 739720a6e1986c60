"""The demo's voice: lines with the seconds since the start, and one whenever nothing was said for a while."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

SILENCE_SECONDS = 4.0
"""Spark takes some seconds to start; a terminal that is silent for longer looks as if all had stopped."""


@dataclass(slots=True)
class Stage:
    """A printer of what happens, with the seconds since the start."""

    started: float
    busy_with: str = "starting"
    _said_at: float = field(default_factory=time.monotonic)

    def say(self, what: str, sentence: str) -> None:
        """Print one line."""
        self._said_at = time.monotonic()
        print(f"[{self._said_at - self.started:5.1f} s] {what:<8} {sentence}", flush=True)

    @contextmanager
    def doing(self, what: str) -> Iterator[None]:
        """Name the thing that goes on in the block, for the lines that break a silence."""
        before, self.busy_with = self.busy_with, what
        try:
            yield
        finally:
            self.busy_with = before

    @contextmanager
    def never_silent(self) -> Iterator[None]:
        """Print a line in the block whenever nothing was said for SILENCE_SECONDS."""
        ended = threading.Event()

        def watch() -> None:
            while not ended.wait(0.25):
                if time.monotonic() - self._said_at >= SILENCE_SECONDS:
                    self.say("…", f"{self.busy_with}")

        thread = threading.Thread(target=watch, name="demo-voice", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
