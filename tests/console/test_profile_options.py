"""The settings that `kawal profile set` keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from console.errors import CommandError, UsageError
from console.help import Parser
from console.profile_options import add_security_options, security_settings
from tests.broker.server.pems import CA


def settings(*words: str) -> dict[str, str] | None:
    parser = Parser()
    add_security_options(parser)
    return security_settings(parser.parse_args(words))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a folder with an authority and a password."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").write_text(CA)
    (tmp_path / "password").write_text("secret\n")
    return tmp_path


LOGIN = ("--protocol", "SASL_SSL", "--ca", "ca.pem", "--mechanism", "SCRAM-SHA-512", "--user", "alice")


def test_options_become_settings_by_kafka_s_names(folder: Path) -> None:
    assert settings(*LOGIN, "--password-file", "password", "--any-host-name") == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": "secret",
        "ssl.truststore.location": str(folder / "ca.pem"),
        "ssl.endpoint.identification.algorithm": "",
    }


def test_options_go_before_the_file(folder: Path) -> None:
    (folder / "f").write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.username=bob\nsasl.password=b\n"
    )
    found = settings("--from", "f", "--user", "alice", "--password-file", "password")
    assert found == {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "alice",
        "sasl.password": "secret",
    }


def test_nothing_given_is_none_and_plaintext_is_no_settings() -> None:
    assert settings() is None
    assert settings("--protocol", "PLAINTEXT") == {}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("words", "kind", "sentence"),
    [
        (("--password-file", "password"), UsageError, "given without --user"),
        (("--password", "x"), UsageError, "others can read command lines"),
        (LOGIN[:4], CommandError, "the command line: security.protocol is SASL_SSL, which needs"),
        (("--protocol", "SSL", "--ca", "gone.pem"), CommandError, "cannot read .*gone.pem"),
        (("--ca", "ca.pem"), CommandError, "is given without security.protocol"),
    ],
)
def test_what_cannot_be_is_told(words: tuple[str, ...], kind: type[Exception], sentence: str) -> None:
    with pytest.raises(kind, match=sentence):
        settings(*words)
