"""Connections of the client commands to a Kafka bootstrap address, with errors put into sentences.

The commands speak the Kafka protocol through kafka-python and work against any broker, not only Kawal.
"""

from __future__ import annotations

import argparse
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from broker.config.endpoints import Endpoint, parse_endpoint
from console.credentials import add_command_config, chosen
from console.errors import CommandError, NotTls, UsageError
from console.greeting import CLOSES, WANTS_TLS, strangeness
from console.outgoing import rules
from console.profiles import bootstrap_of
from console.security import Security

if TYPE_CHECKING:
    from kafka import KafkaAdminClient, KafkaConsumer

BOOTSTRAP_VARIABLE = "KAWAL_BOOTSTRAP"
BOOTSTRAP_DEFAULT = "127.0.0.1:9092"

CONNECT_SECONDS = 5.0
"""Long enough for a distant network; an unused address on this machine refuses at once."""
ANSWER_MS = 15_000
"""The time in which a broker that accepted the connection must answer in the Kafka protocol."""


def add_bootstrap(parser: argparse.ArgumentParser) -> None:
    """Declare --bootstrap and --command-config."""
    parser.add_argument(
        "--bootstrap",
        metavar="HOST:PORT",
        default=os.environ.get(BOOTSTRAP_VARIABLE) or bootstrap_of(os.environ) or BOOTSTRAP_DEFAULT,
        help=f"broker (default ${BOOTSTRAP_VARIABLE}, else that of the profile, else {BOOTSTRAP_DEFAULT})",
    )
    add_command_config(parser)


class Trouble(logging.Handler):
    """A listener to kafka-python's log, so that a lost connection is noticed without asking for it."""

    def __init__(self) -> None:
        super().__init__(level=logging.WARNING)
        self.seen = False

    def emit(self, record: logging.LogRecord) -> None:
        """Remember that something went wrong; the sentence for the user is ours."""
        self.seen = True

    def take(self) -> bool:
        """Return whether anything went wrong since the last call."""
        seen, self.seen = self.seen, False
        return seen


def listen_for_trouble() -> Trouble:
    """Take kafka-python's log messages off the terminal and return the handler they go to instead."""
    trouble = Trouble()
    logger = logging.getLogger("kafka")
    logger.handlers = [trouble]
    logger.propagate = False
    return trouble


def check_reachable(bootstrap: str) -> None:
    """Raise a CommandError unless a Kafka broker answers at one of the addresses.

    kafka-python would try for half a minute and then say less.
    """
    unreachable, strange = [], []
    for endpoint in endpoints(bootstrap):
        try:
            strangeness_there = _strangeness(endpoint)
        except OSError as error:
            unreachable.append(f"{endpoint.text} ({error.strerror or error})")
        else:
            if strangeness_there is None:
                return
            strange.append(strangeness_there)
    if strange:
        raise CommandError("; ".join(strange))
    raise CommandError(
        f"cannot reach {', '.join(unreachable)}; start a gateway with 'kawal serve', or name another address "
        "with --bootstrap"
    )


def _strangeness(endpoint: Endpoint) -> str | None:
    """Connect, and log in where that is chosen; return what is wrong with what answers, if anything.

    Raises: OSError when nothing does; CommandError when a certificate or the login is refused.
    """
    security = chosen()
    try:
        with _connected(endpoint, security) as connection:
            found = strangeness(connection, whole=security.logs_in)
            if found is None:
                _log_in(connection, security, endpoint)
                return None
    except NotTls as error:
        return f"{endpoint.text} cannot be used: {error}"
    except OSError as error:
        if security.encrypts:
            from console.secure_connection import check_alert

            check_alert(error, security, endpoint.text)
        raise
    if found == WANTS_TLS:
        found += "; set security.protocol=SSL or SASL_SSL in the file of --command-config, or in a profile"
    if found == CLOSES and security.encrypts and not security.has_certificate:
        found += "; it may want a certificate of the client: set ssl.certificate.location"
    kind = f"{security.protocol} connection" if security.encrypts else "plain connection"
    return f"{endpoint.text} is not a Kafka broker that a {kind} can use: {found}"


def opened(endpoint: Endpoint) -> socket.socket:
    """Return a connection that is encrypted and logged in as chosen.

    Raises: OSError when there is none; CommandError when a certificate or the login is refused.
    """
    security = chosen()
    connection = _connected(endpoint, security)
    if security.logs_in:
        try:
            _log_in(connection, security, endpoint)
        except BaseException:
            connection.close()
            raise
    return connection


def _connected(endpoint: Endpoint, security: Security) -> socket.socket:
    try:
        plain = socket.create_connection(endpoint, timeout=CONNECT_SECONDS)
    except UnicodeError as error:  # a part of the name is empty or too long
        raise OSError(0, "not the name of a host") from error
    if not security.encrypts:
        return plain
    from console.secure_connection import encrypted  # plain connections need no OpenSSL

    return encrypted(plain, endpoint.host, security, endpoint.text)


def _log_in(connection: socket.socket, security: Security, endpoint: Endpoint) -> None:
    if not security.logs_in:
        return
    from console.login import log_in  # most connections need none

    connection.settimeout(ANSWER_MS / 1000)
    log_in(connection, security, endpoint.text)


def check_no_login(bootstrap: str) -> None:
    """Raise a CommandError if a server wants a login and none is chosen; it would only hang up."""
    if chosen().logs_in:
        return
    from console.login import mechanisms_wanted

    for endpoint in endpoints(bootstrap):
        try:
            with opened(endpoint) as connection:
                connection.settimeout(ANSWER_MS / 1000)
                mechanisms = mechanisms_wanted(connection, endpoint.text)
        except OSError:
            continue
        if mechanisms:
            raise CommandError(
                f"{endpoint.text} wants a login ({', '.join(mechanisms)}); give --command-config FILE with "
                "security.protocol, sasl.mechanism, sasl.username and sasl.password, or use a profile with "
                "them"
            )
        return


def endpoints(bootstrap: str) -> list[Endpoint]:
    """Return the addresses of a bootstrap list.  Raises: UsageError."""
    try:
        return [parse_endpoint(text) for text in bootstrap.split(",")]
    except ValueError as error:
        raise UsageError(f"--bootstrap: {error}") from error


@contextmanager
def admin_client(bootstrap: str) -> Iterator[KafkaAdminClient]:
    """Open an administrative client for one command.  Raises: CommandError."""
    from kafka import KafkaAdminClient

    with _session(bootstrap, KafkaAdminClient) as client:
        yield client


@contextmanager
def consumer_client(bootstrap: str, **options: Any) -> Iterator[KafkaConsumer]:
    """Open a consumer, without a group unless the options name one, that never creates topics.

    Raises: CommandError.
    """
    from kafka import KafkaConsumer

    fixed = {"group_id": None, "enable_auto_commit": False, "allow_auto_create_topics": False}
    with _session(bootstrap, KafkaConsumer, **{**fixed, **options}) as client:
        yield client


@contextmanager
def _session(bootstrap: str, kind: Any, **options: Any) -> Iterator[Any]:
    """Open a client, and turn what kafka-python raises inside the block into sentences."""
    from kafka.errors import KafkaError

    # Its sockets are its own: what it sends would pass no rules.
    assert rules() is None, "work under rules sends its requests by console.admin or over a Link"
    check_reachable(bootstrap)
    check_no_login(bootstrap)
    try:
        client = kind(
            bootstrap_servers=bootstrap.split(","),
            bootstrap_timeout_ms=ANSWER_MS,
            request_timeout_ms=ANSWER_MS,
            client_id="kawal-cli",
            **_security_options(),
            **options,
        )
    except KafkaError as error:
        raise CommandError(
            f"{bootstrap} accepts connections but does not answer in the Kafka protocol: {explained(error)}"
        ) from error
    try:
        yield client
    except KafkaError as error:
        raise CommandError(f"{bootstrap}: {explained(error)}") from error
    finally:
        client.close()


def _security_options() -> dict[str, Any]:
    """Return what kafka-python is told of the security chosen."""
    security = chosen()
    options: dict[str, Any] = {}
    if security.encrypts:
        from console.secure_connection import context_of

        options["ssl_context"] = context_of(security)
    if security.logs_in:
        options |= {
            "sasl_mechanism": security.mechanism,
            "sasl_plain_username": security.user,
            "sasl_plain_password": security.password,
        }
    return options | {"security_protocol": security.protocol} if options else {}


def explained(error: BaseException) -> str:
    """Return what a kafka-python error says in one line, without the dump of the request."""
    words = str(error.args[0]) if error.args else ""
    if not words or words.startswith("Request '"):
        return meaning(type(error))
    return words.split("\n")[0]


def meaning(kind: type) -> str:
    """Return what a class of kafka-python's errors means, in Kafka's words."""
    return getattr(kind, "description", None) or kind.__name__


def refusal(code: int, message: str | None) -> str:
    """Return why the broker refused an item: its own words, else what Kafka's code means."""
    if message:
        return message
    from kafka.errors import for_code

    return meaning(for_code(code))
