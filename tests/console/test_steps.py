"""Progress on standard error, sizes in words, and a limit for the speed."""

from __future__ import annotations

import io

import pytest

from console import steps
from console.steps import drive, size_text
from wal.backup import Progress


class Clock:
    """Time that only sleeping moves on."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(steps, "time", clock)
    return clock


def test_a_file_gets_a_line_every_ten_seconds(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    work = [Progress("copying", done << 20, 100 << 20) for done in range(0, 100, 5)]
    assert drive(work, rate_bytes=5 << 20) == pytest.approx(19)
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["copying: 55.0 MiB of 100.0 MiB (55 %)"]


def test_a_terminal_gets_one_line_that_is_wiped_at_the_end(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    clock.now = 5
    drive([Progress("checking", 0, 0)])
    assert terminal.getvalue() == "\rchecking: 0 bytes of 0 bytes (100 %)\x1b[K\r\x1b[K"


def test_a_step_that_waits_for_the_clock_sleeps_a_moment(clock: Clock) -> None:
    drive([Progress("waiting", 0, 0)] * 3)
    assert clock.slept == [0.001] * 3


@pytest.mark.parametrize(
    ("size", "text"),
    [(0, "0 bytes"), (1023, "1023 bytes"), (1024, "1.0 KiB"), (5 << 20, "5.0 MiB"), (3 << 50, "3072.0 TiB")],
)
def test_sizes_are_told_in_words(size: int, text: str) -> None:
    assert size_text(size) == text
