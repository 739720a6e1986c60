"""`kawal console`: refusals before it serves, and what it hands on."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest

from console.cli import main
from console.web import start


class FakeSocket:
    def __enter__(self) -> FakeSocket:
        return self

    def __exit__(self, *_: object) -> None: ...


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    monkeypatch.setattr(socket, "create_server", lambda *_, **__: FakeSocket())
    monkeypatch.setattr(start, "serve_alone", lambda _, **options: found.append(options))
    return found


def test_it_serves_any_broker(served: list[dict[str, Any]]) -> None:
    assert main(["console", "--bootstrap", "kafka:1,kafka:2", "--read-only", "--host", "Kafka.Example"]) == 0
    (options,) = served
    assert (options["bootstrap"], options["read_only"], options["login"]) == ("kafka:1,kafka:2", True, False)
    assert options["hosts"] == ("kafka.example",)


@pytest.mark.parametrize("address", ["0.0.0.0:9645", "10.0.0.1:0", ":9645", "kafka.example:1"])
def test_others_reach_it_only_with_logins(
    served: list[dict[str, Any]], address: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["console", "--listen", address]) == 1
    assert "other machines could reach" in capsys.readouterr().err
    assert served == []


@pytest.mark.parametrize("user", ["", "sasl.username=u\nsasl.password=p\n"])
def test_people_log_in_by_the_protocol_of_a_file_without_a_user_or_with_one(
    user: str, served: list[dict[str, Any]], tmp_path: Path
) -> None:
    file = tmp_path / "tls.properties"
    file.write_text(f"security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nssl.ca.location=/ca.pem\n{user}")
    command = ["console", "--login", "--listen", "0.0.0.0:0", "--command-config", str(file)]
    assert main(command) == 0
    security = served[0]["security"]
    assert (security.protocol, security.mechanism, security.ca) == ("SASL_SSL", "PLAIN", "/ca.pem")
    assert (security.user, security.password) == ("", "")


def test_a_file_without_logins_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "plain.properties"
    file.write_text("security.protocol=PLAINTEXT\n")
    assert main(["console", "--login", "--command-config", str(file)]) == 2
    assert "has no logins" in capsys.readouterr().err


def test_an_address_that_is_taken_or_none_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def taken(*_: object, **__: object) -> None:
        raise OSError(98, "Address already in use")

    monkeypatch.setattr(socket, "create_server", taken)
    assert main(["console"]) == 1
    assert "127.0.0.1:9645: Address already in use" in capsys.readouterr().err
    assert main(["console", "--listen", "x"]) == 2
    assert main(["console", "--bootstrap", "x"]) == 2
