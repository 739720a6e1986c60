"""TLS and SASL of a job file, as three clients want them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pipeline.errors import JobFileError, SetupError
from pipeline.job_file import parse
from pipeline.job_paths import at_home
from pipeline.security import (
    SecuritySection,
    java_options,
    kafka_python_options,
    librdkafka_options,
    tls_context,
)
from pipeline.sinks.topics import source_client, target_client
from pipeline.sources.kafka import source_options

LOGIN = {"U": "ann", "P": 'a "b" \\c'}
SCRAM = SecuritySection(protocol="SASL_SSL", username_env="U", password_env="P", ca="ca.pem")


@pytest.fixture
def in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("ca", "cert", "key"):
        (tmp_path / f"{name}.pem").write_text(f"-----{name}-----")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_login_over_tls_is_told_to_each_client_in_its_words(in_folder: Path) -> None:
    assert java_options(SCRAM, LOGIN) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": "org.apache.kafka.common.security.scram.ScramLoginModule required "
        r'username="ann" password="a \"b\" \\c";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": "-----ca-----",
    }
    assert librdkafka_options(SCRAM, LOGIN) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "ann",
        "sasl.password": 'a "b" \\c',
        "ssl.ca.pem": "-----ca-----",
    }
    assert kafka_python_options(SCRAM, LOGIN) == {
        "security_protocol": "SASL_SSL",
        "sasl_mechanism": "SCRAM-SHA-512",
        "sasl_plain_username": "ann",
        "sasl_plain_password": 'a "b" \\c',
        "ssl_cafile": "ca.pem",
    }


def test_a_client_certificate_goes_with_its_key(in_folder: Path) -> None:
    mutual = SecuritySection(protocol="SSL", certificate="cert.pem", key="key.pem")
    assert java_options(mutual)["ssl.keystore.certificate.chain"] == "-----cert-----"
    assert java_options(mutual)["ssl.keystore.key"] == "-----key-----"
    assert librdkafka_options(mutual)["ssl.key.pem"] == "-----key-----"
    assert kafka_python_options(mutual)["ssl_keyfile"] == "key.pem"


def test_nothing_is_told_without_security() -> None:
    plain = SecuritySection()
    assert (java_options(plain), librdkafka_options(plain), kafka_python_options(plain)) == ({}, {}, {})


@pytest.mark.parametrize("options", [java_options, librdkafka_options, kafka_python_options])
def test_a_login_that_is_not_in_the_environment_and_a_file_that_is_not_there_are_named(options: Any) -> None:
    with pytest.raises(SetupError, match="the environment variable P is not set"):
        options(SCRAM, {"U": "ann"})
    with pytest.raises(SetupError, match=r"nothing\.pem cannot be read as a PEM file"):
        options(SecuritySection(protocol="SSL", ca="nothing.pem"), {})


def content(security: dict[str, str], **more: Any) -> dict[str, Any]:
    return {
        "job": {"name": "a"},
        "source": {"topics": ["t"], "security": security},
        "sink": {"path": "t"},
        **more,
    }


@pytest.mark.parametrize(
    ("security", "sentence"),
    [
        ({"protocol": "SASL_SSL"}, "needs source.security.username_env and source.security.password_env"),
        ({"username_env": "U"}, "are for SASL, but source.security.protocol is 'PLAINTEXT'"),
        ({"ca": "ca.pem"}, "source.security names PEM files, but"),
        ({"protocol": "SSL", "key": "key.pem"}, "belong together; give both"),
        ({"protocol": "TLS"}, "source.security.protocol is 'TLS': expected one of"),
        ({"user_env": "U"}, "'source.security.user_env' is not a key .* did you mean"),
    ],
)
def test_what_contradicts_itself_is_refused(security: dict[str, str], sentence: str) -> None:
    with pytest.raises(JobFileError, match=sentence):
        parse(content(security))


def test_source_and_target_have_their_own_and_paths_count_from_the_job_file(
    in_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("U", "ann")
    monkeypatch.setenv("P", "secret")
    login = {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "username_env": "U", "password_env": "P"}
    target = {"bootstrap": "b:1", "security": {"protocol": "SSL", "ca": "ca.pem"}}
    job = at_home(parse(content(login, job={"name": "a", "kind": "replicate"}, target=target)), in_folder)
    assert job.target.security.ca == str(in_folder / "ca.pem")
    assert source_options(job)["kafka.sasl.mechanism"] == "PLAIN"
    assert source_client(job)["sasl.password"] == "secret"
    assert target_client(job)["ssl.ca.pem"] == "-----ca-----"
    assert "sasl.password" not in target_client(job)


def test_files_that_are_no_certificates_and_keys_are_named_before_a_broker_is_asked(in_folder: Path) -> None:
    with pytest.raises(SetupError, match=r"ca\.pem holds no certificate that can be read"):
        tls_context(SecuritySection(protocol="SSL", ca="ca.pem"))
    with pytest.raises(SetupError, match=r"cert\.pem and key\.pem are no certificate with its private key"):
        tls_context(SecuritySection(protocol="SSL", certificate="cert.pem", key="key.pem"))
    with pytest.raises(SetupError, match=r"nothing\.pem cannot be read as a PEM file"):
        tls_context(SecuritySection(protocol="SSL", ca="nothing.pem"))
