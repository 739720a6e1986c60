"""The demo's voice."""

from __future__ import annotations

import threading
import time

import pytest

from pipeline.demo import stage as voice
from pipeline.demo.stage import Stage


def test_a_line_has_the_seconds_since_the_start(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(time, "monotonic", lambda: 62.25)
    Stage(60.0).say("land", "hello")
    assert capsys.readouterr().out == "[  2.2 s] land     hello\n"


def test_a_silence_is_broken_by_what_goes_on(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(voice, "SILENCE_SECONDS", 0.0)
    said = threading.Event()
    stage = Stage(time.monotonic())
    say = Stage.say

    def tell(self: Stage, what: str, sentence: str) -> None:
        say(self, what, sentence)
        said.set()

    monkeypatch.setattr(Stage, "say", tell)
    with stage.doing("starting Spark"), stage.never_silent():
        assert said.wait(60)
    assert stage.busy_with == "starting"
    assert "…        starting Spark" in capsys.readouterr().out
