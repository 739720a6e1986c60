"""The addresses of the configuration, and the server that may already listen on them."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

from broker.config.acl_keys import STANDARD_AUTHORIZER, unenforced
from broker.config.config import Config
from broker.config.endpoints import HTTP_OFF, Endpoint, is_loopback, parse_endpoint
from broker.config.listener_specs import unencrypted
from broker.config.tls_settings import tls_settings
from console.doctor.facts import Facts
from console.doctor.finding import Finding, ok, problem, warning
from console.errors import CommandError
from console.health import Health, reachable

Ask = Callable[[str], Health]

DAY_S = 86_400


def check_listeners(facts: Facts, config: Config, ask: Ask) -> Iterator[Finding]:
    """Check that each address is free, or in use by a server that speaks Kafka's protocol."""
    for spec in config.specs:
        endpoint = spec.endpoint
        error = facts.bind_error(endpoint) if endpoint.port else None
        if error is None:
            yield ok("listeners", f"{endpoint.text} is free")
        elif error.errno == errno.EADDRINUSE and spec.protocol.encrypted:
            text = f"{endpoint.text} is in use, by a server already running or by another program"
            yield ok("listeners", text)
        elif error.errno == errno.EADDRINUSE:
            yield _who_has(endpoint, ask)
        else:
            text = f"cannot listen on {endpoint.text}: {error.strerror or error}"
            yield problem("listeners", text, "choose an address of this machine with --listen")
    for risk in filter(None, map(unencrypted, config.specs)):
        yield warning("listeners", risk, "use SASL_SSL with a certificate ('kawal certs make' makes one)")
    if risk := unenforced(config):
        yield warning("listeners", risk, f"set authorizer.class.name={STANDARD_AUTHORIZER}")
    if config.kawal_insecure:
        yield warning(
            "listeners",
            "kawal.insecure lets other machines connect, and no client is authenticated",
            "keep strangers out with a firewall, or listen on 127.0.0.1",
        )


def check_certificates(facts: Facts, config: Config) -> Iterator[Finding]:
    """Check that listeners with TLS can be served, and that their certificates do not end soon."""
    encrypted = [spec for spec in config.specs if spec.protocol.encrypted]
    if not encrypted:
        return
    from broker.server.tls import TlsError, make_tls  # OpenSSL is needed for TLS alone
    from broker.server.tls_listeners import WARN_DAYS

    for spec in encrypted:
        try:
            tls = make_tls(tls_settings(config, spec))
        except TlsError as error:
            yield problem("certificates", str(error), "mend the files and settings that are named")
            continue
        days = (tls.until_s - facts.wall_seconds) / DAY_S
        what = f"the certificate {tls.subject!r} of the listener {spec.name}"
        if days <= 0:
            yield problem("certificates", f"{what} has expired", "replace the file; a running server notices")
        elif days <= max(WARN_DAYS):
            text = f"{what} expires in {days:.1f} days"
            yield warning("certificates", text, "replace the file; a running server notices")
        else:
            yield ok("certificates", f"{what} is valid for {days:.0f} days")


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
    if not is_loopback(endpoint.host) and not config.kawal_insecure:
        yield warning(
            "http",
            f"{endpoint.text} asks other machines for passwords of users, and is not encrypted",
            "put a proxy with TLS before it, and bind 127.0.0.1",
        )
