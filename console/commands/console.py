"""`kawal console`: the web console, for any Kafka broker."""

from __future__ import annotations

import argparse
import socket

from broker.config.endpoints import Endpoint, is_loopback, parse_endpoint
from console.client import add_bootstrap, endpoints
from console.credentials import chosen, from_file
from console.errors import OK, CommandError, UsageError
from console.help import describe
from console.security import PASSWORD, USER, Security, security_of

LISTEN_DEFAULT = "127.0.0.1:9645"
BACKLOG = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    describe(
        parser,
        """Serve the web console until SIGTERM or Ctrl-C: topics, records, groups and settings of a cluster
        in a browser.  A gateway serves one by itself (kawal.console.listeners); this one is for any broker.

        With --login, each person logs in as a user of the broker, and may what that user may.  Without it,
        the console acts for all who reach it, by the login of --command-config if there is one: it then
        listens on an address of this machine only.""",
        [
            ("console", f"the broker at 127.0.0.1:9092, on http://{LISTEN_DEFAULT}"),
            ("console --bootstrap kafka.example:9092 --read-only", "any broker, and change nothing"),
            (
                "console --login --command-config tls.properties --listen 0.0.0.0:9645 --host kafka.example",
                "a team",
            ),
        ],
    )
    add_bootstrap(parser)
    parser.add_argument(
        "--listen", metavar="HOST:PORT", default=LISTEN_DEFAULT, help=f"address (default {LISTEN_DEFAULT})"
    )
    parser.add_argument("--read-only", action="store_true", help="send no request that changes something")
    parser.add_argument("--login", action="store_true", help="people log in as users of the broker")
    parser.add_argument(
        "--host",
        metavar="NAME",
        action="append",
        default=[],
        help="name by which browsers call it; repeatable",
    )
    parser.add_argument(
        "--mask",
        metavar="TOPIC[:PART]",
        action="append",
        default=[],
        help="show no one this part of a topic's records: key, value, headers or a column; all of them "
        "without PART; TOPIC may have * in it; repeatable",
    )
    parser.add_argument("--https", action="store_true", help="browsers come by HTTPS, through a proxy")


def run(arguments: argparse.Namespace) -> int:
    """Serve.  Raises: CommandError when that cannot begin."""
    from console.web.masks import parse_mask
    from console.web.start import serve_alone  # the imports take longer than a refusal

    endpoints(arguments.bootstrap)
    masks = tuple(map(parse_mask, arguments.mask))
    endpoint = _endpoint(arguments.listen)
    security = _login_security(arguments.command_config) if arguments.login else chosen()
    listening = _listen(endpoint, login=arguments.login)
    with listening:
        serve_alone(
            listening,
            bootstrap=arguments.bootstrap,
            security=security,
            read_only=arguments.read_only,
            login=arguments.login,
            https=arguments.https,
            hosts=tuple(name.lower() for name in arguments.host),
            masks=masks,
        )
    return OK


def _endpoint(text: str) -> Endpoint:
    try:
        return parse_endpoint(text)
    except ValueError as error:
        raise UsageError(f"--listen: {error}") from error


def _login_security(file: str | None) -> Security:
    """Return the way to logins, without a user.  Raises: CommandError."""
    if file is None:
        return Security("SASL_PLAINTEXT", "SCRAM-SHA-256")
    from broker.config.properties import Property

    known = from_file(file)
    for key in (USER, PASSWORD):
        known[key] = Property(key, "-", file)
    found = security_of(known, file)
    if not found.logs_in:
        raise UsageError(f"--login: {file} sets security.protocol={found.protocol}, which has no logins")
    return found._replace(user="", password="")


def _listen(endpoint: Endpoint, *, login: bool) -> socket.socket:
    """Return a listening socket.  Raises: CommandError when the address is taken, or open to others."""
    if not is_loopback(endpoint.host) and not login:
        raise CommandError(
            f"other machines could reach {endpoint.text} and change what they like; add --login, or listen "
            "on 127.0.0.1"
        )
    try:
        family = socket.getaddrinfo(endpoint.host or "0.0.0.0", endpoint.port)[0][0]  # noqa: S104
        listening = socket.create_server((endpoint.host, endpoint.port), family=family, backlog=BACKLOG)
    except OSError as error:
        raise CommandError(f"cannot listen on {endpoint.text}: {error.strerror or error}") from error
    return listening
