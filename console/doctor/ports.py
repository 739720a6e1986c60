"""The addresses of the configuration, and the server that may already listen on them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

from broker.config.config import Config
from broker.config.endpoints import HTTP_OFF, Endpoint, parse_endpoint
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning
from console.errors import CommandError
from console.health import Health, reachable

Ask = Callable[[str], Health]


def check_listeners(facts: Facts, config: Config, ask: Ask) -> Iterator[Finding]:
    """Check that each address is free, or in use by a server that speaks Kafka's protocol."""
    for endpoint in config.endpoints:
        error = facts.bind_error(endpoint) if endpoint.port else None
        if error is None:
            yield ok("listeners", f"{endpoint.text} is free")
        elif error.errno == errno.EADDRINUSE:
            yield _who_has(endpoint, ask)
        else:
            text = f"cannot listen on {endpoint.text}: {error.strerror or error}"
            yield problem("listeners", text, "choose an address of this machine with --listen")
    if config.kawal_insecure:
        yield warning(
            "listeners",
            "kawal.insecure lets other machines connect, and no client is authenticated",
            "keep strangers out with a firewall, or listen on 127.0.0.1",
        )


def _who_has(endpoint: Endpoint, ask: Ask) -> Finding:
    address = reachable(endpoint)
    try:
        health = ask(address)
    except CommandError as error:
        return problem(
            "listeners",
            f"another program uses {endpoint.text} and does not speak Kafka's protocol ({error})",
            "stop it, or choose another address with --listen",
        )
    return ok(
        "listeners", f"a server answers on {address} in {health.milliseconds:.1f} ms, {health.apis} APIs"
    )


def check_http(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that the address of metrics and health is free, unless it is switched off."""
    if config.kawal_http_listen == HTTP_OFF:
        yield ok("http", "metrics and health are switched off (kawal.http.listen)")
        return
    endpoint = parse_endpoint(config.kawal_http_listen)
    error = facts.bind_error(endpoint) if endpoint.port else None
    if error is None:
        yield ok("http", f"{endpoint.text} is free")
    elif error.errno == errno.EADDRINUSE:
        yield ok("http", f"{endpoint.text} is in use, by a server already running or by another program")
    else:
        text = f"cannot listen on {endpoint.text}: {error.strerror or error}"
        yield problem("http", text, "choose an address of this machine with --http, or none")
