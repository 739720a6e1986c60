"""`kawal certs`: the files that it makes fit together, and are for their owner alone."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from broker.config.config import config_of
from broker.security.certificates import read_certificate
from broker.server.tls import make_tls, settings_of
from console.cli import main


def test_a_server_starts_with_what_was_made_and_knows_the_client(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "certs"
    assert main(["certs", "make", "--dir", str(folder), "--host", "kafka.example", "--client", "dave"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"made {folder}/ca.pem",
        f"made {folder}/server.pem",
        f"made {folder}/dave.pem",
    ]
    config = config_of(
        {
            "listeners": "SSL://127.0.0.1:0",
            "ssl.keystore.location": str(folder / "server.pem"),
            "ssl.truststore.location": str(folder / "ca.pem"),
            "ssl.client.auth": "required",
        }
    )
    assert make_tls(settings_of(config)["SSL"]).subject == "CN=localhost"
    pem = (folder / "dave.pem").read_text()
    der = ssl.PEM_cert_to_DER_cert(pem[pem.index("-----BEGIN CERTIFICATE") :])
    assert read_certificate(der).subject == "CN=dave"
    assert {path.name for path in folder.iterdir()} == {
        "ca.pem",
        "ca.key",
        "ca.srl",
        "server.pem",
        "dave.pem",
    }
    assert {path.stat().st_mode & 0o077 for path in folder.iterdir()} == {0}


def test_what_is_there_is_kept(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["certs", "make", "--dir", str(tmp_path)]) == 0
    before = {path.name: path.read_text() for path in tmp_path.glob("*.pem")}
    capsys.readouterr()
    assert main(["certs", "make", "--dir", str(tmp_path), "--client", "erin"]) == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        f"kept {tmp_path}/ca.pem",
        f"kept {tmp_path}/server.pem",
    ]
    assert before.items() <= {path.name: path.read_text() for path in tmp_path.glob("*.pem")}.items()


@pytest.mark.parametrize(
    "words",
    [
        ["--client", "a/b"],
        ["--client", "../x"],
        ["--client", "CA"],
        ["--host", "a,DNS:b"],
        ["--host", ""],
        ["--days", "0"],
    ],
)
def test_names_that_openssl_or_the_disk_would_read_otherwise_are_refused(
    tmp_path: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["certs", "make", "--dir", str(tmp_path / "new"), *words]) == 2
    assert words[1] in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_without_the_openssl_command_the_sentence_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["certs", "make", "--dir", str(tmp_path)]) == 1
    assert "openssl command is not installed" in capsys.readouterr().err
