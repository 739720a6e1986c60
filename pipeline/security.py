"""TLS and SASL towards a broker: the keys of one table of the job file, as each of three clients wants them.

Passwords are not in job files: the file names environment variables. Certificates reach Spark's executors and
the writers of topics as text, so that the files need to be on the machine of the driver only.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from pipeline.errors import JobFileError, SetupError

MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class SecuritySection(Struct, frozen=True, kw_only=True):
    """Tables [source.security] and [target.security]: TLS and SASL towards the broker."""

    protocol: Annotated[
        Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"],
        Meta(description="Whether the connection is encrypted (SSL) and the client logs in (SASL)."),
    ] = "PLAINTEXT"
    mechanism: Annotated[
        Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"], Meta(description="How the client logs in.")
    ] = "SCRAM-SHA-512"
    username_env: Annotated[str, Meta(description="Environment variable with the name of the user.")] = ""
    password_env: Annotated[str, Meta(description="Environment variable with the password.")] = ""
    ca: Annotated[
        str, Meta(description="PEM file of the authorities that sign for brokers; empty: the system's.")
    ] = ""
    certificate: Annotated[
        str, Meta(description="PEM file of the client's own certificate, where brokers ask for one.")
    ] = ""
    key: Annotated[str, Meta(description="PEM file of the private key of that certificate.")] = ""

    @property
    def logs_in(self) -> bool:
        """Whether a user name and a password are needed."""
        return self.protocol.startswith("SASL")

    @property
    def encrypts(self) -> bool:
        """Whether the connection is encrypted."""
        return self.protocol.endswith("SSL")


def check_security(section: SecuritySection, table: str) -> None:
    """Refuse keys that contradict each other.  Raises: JobFileError."""
    if section.logs_in and not (section.username_env and section.password_env):
        raise JobFileError(
            f"{table}.protocol is {section.protocol!r}, which needs {table}.username_env and "
            f"{table}.password_env"
        )
    if not section.logs_in and (section.username_env or section.password_env):
        raise JobFileError(
            f"{table}.username_env and password_env are for SASL, but {table}.protocol is "
            f"{section.protocol!r}; set 'SASL_SSL' or 'SASL_PLAINTEXT'"
        )
    if not section.encrypts and (section.ca or section.certificate or section.key):
        raise JobFileError(
            f"{table} names PEM files, but {table}.protocol is {section.protocol!r}; set 'SSL' or 'SASL_SSL'"
        )
    if bool(section.certificate) != bool(section.key):
        raise JobFileError(f"{table}.certificate and {table}.key belong together; give both")


def java_options(section: SecuritySection, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the options of Java's client, without Spark's prefix.  Raises: SetupError."""
    if section.protocol == "PLAINTEXT":
        return {}
    options: dict[str, str] = {"security.protocol": section.protocol}
    if section.logs_in:
        user, password = (_quoted(text) for text in _login(section, environment))
        options["sasl.mechanism"] = section.mechanism
        options["sasl.jaas.config"] = (
            f"{MODULES[section.mechanism]} required username={user} password={password};"
        )
    if section.ca:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": _text(section.ca)}
    if section.certificate:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": _text(section.certificate),
            "ssl.keystore.key": _text(section.key),
        }
    return options


def librdkafka_options(
    section: SecuritySection, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the settings of librdkafka.  Raises: SetupError."""
    if section.protocol == "PLAINTEXT":
        return {}
    options: dict[str, str] = {"security.protocol": section.protocol}
    if section.logs_in:
        user, password = _login(section, environment)
        options |= {"sasl.mechanism": section.mechanism, "sasl.username": user, "sasl.password": password}
    if section.ca:
        options["ssl.ca.pem"] = _text(section.ca)
    if section.certificate:
        options |= {"ssl.certificate.pem": _text(section.certificate), "ssl.key.pem": _text(section.key)}
    return options


def kafka_python_options(
    section: SecuritySection, environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return the arguments of kafka-python's clients.  Raises: SetupError."""
    if section.protocol == "PLAINTEXT":
        return {}
    options: dict[str, str] = {"security_protocol": section.protocol}
    if section.logs_in:
        user, password = _login(section, environment)
        options |= {
            "sasl_mechanism": section.mechanism,
            "sasl_plain_username": user,
            "sasl_plain_password": password,
        }
    files = {"ssl_cafile": section.ca, "ssl_certfile": section.certificate, "ssl_keyfile": section.key}
    for path in filter(None, files.values()):
        _text(path)  # says which one cannot be read
    return options | {name: path for name, path in files.items() if path}


def tls_context(section: SecuritySection) -> ssl.SSLContext:
    """Return a context of TLS with the files of a table.  Raises: SetupError naming a file of no use."""
    for path in filter(None, (section.ca, section.certificate, section.key)):
        _text(path)
    try:
        context = ssl.create_default_context(cafile=section.ca or None)
    except ssl.SSLError as error:
        raise SetupError(f"{section.ca} holds no certificate that can be read: {_reason(error)}") from error
    if section.certificate:
        try:
            context.load_cert_chain(section.certificate, section.key, password="")
        except (ssl.SSLError, ValueError) as error:
            raise SetupError(
                f"{section.certificate} and {section.key} are no certificate with its private key, without a "
                f"password: {_reason(error)}"
            ) from error
    return context


def _reason(error: Exception) -> str:
    return str(getattr(error, "reason", None) or "not PEM").replace("_", " ").lower()


def _login(section: SecuritySection, environment: Mapping[str, str]) -> tuple[str, str]:
    found = []
    for name in (section.username_env, section.password_env):
        value = environment.get(name)
        if not value:
            raise SetupError(
                f"the environment variable {name} is not set; the job file takes a login from it"
            )
        found.append(value)
    return found[0], found[1]


def _quoted(text: str) -> str:
    """Return a text as JAAS writes it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError) as error:
        raise SetupError(f"{path} cannot be read as a PEM file: {error}") from error
