"""`kawal health`."""

from __future__ import annotations

import pytest

from console.cli import main


@pytest.mark.usefixtures("gateway")
def test_an_answer_is_success(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["health", "--bootstrap", "here:1"]) == 0
    assert capsys.readouterr().out.startswith("here:1 answers: ")


def test_silence_and_a_bad_configuration_are_failures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("console.client.socket.create_connection", refused)
    assert main(["health", "--bootstrap", "127.0.0.1:1"]) == 1
    monkeypatch.setenv("KAWAL_LISTENERS", "nowhere")
    monkeypatch.delenv("KAWAL_BOOTSTRAP", raising=False)
    assert main(["health"]) == 1
    assert "KAWAL_LISTENERS" in capsys.readouterr().err


def refused(*_: object, **__: object) -> None:
    raise ConnectionRefusedError(111, "connection refused")
