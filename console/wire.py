"""Requests to a Kawal server that Kafka's APIs do not carry: one each, on a connection of its own.

Everything else goes through kafka-python; see console/client.py.
"""

from __future__ import annotations

from typing import Any

from console.client import ANSWER_MS, check_no_login, check_reachable, endpoints, opened
from console.errors import CommandError
from console.exchange import api_of, exchange
from console.outgoing import rules


class NotKawal(CommandError):
    """A server that closed the connection on a request that only Kawal knows."""


def ask(bootstrap: str, request: Any, version: int = 0) -> Any:
    """Send one request to the first address that accepts a connection and return its answer.

    Raises: NotKawal; CommandError when no server can be reached, or none answers.
    """
    if (over := rules()) is not None:
        return over.ask(bootstrap, request, version)
    check_reachable(bootstrap)
    for endpoint in endpoints(bootstrap):
        try:
            with opened(endpoint) as connection:
                connection.settimeout(ANSWER_MS / 1000)
                return exchange(connection, request, version, endpoint.text)
        except ConnectionRefusedError:
            continue
        except TimeoutError as error:
            raise CommandError(f"{endpoint.text} has not answered within {ANSWER_MS} ms") from error
        except ConnectionError as error:
            check_no_login(bootstrap)
            raise not_kawal(endpoint.text, request) from error
        except OSError as error:
            raise CommandError(
                f"lost the connection to {endpoint.text}: {error.strerror or error}"
            ) from error
    raise CommandError(f"{bootstrap}: no server accepts connections any more")


def not_kawal(address: str, request: Any) -> NotKawal:
    """Return the error for a server that does not know a request of ours."""
    name = api_of(request).name.lower().replace("_", " ")
    return NotKawal(
        f"{address} does not know the request '{name}': it is not a Kawal server, or is an older one"
    )
