"""The addresses on which the server listens, and those that its clients learn."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from broker.config.config import Config
from broker.config.endpoints import HTTP_OFF, Endpoint, parse_endpoint
from broker.config.listener_specs import SHORT_NAME, ListenerSpec, lack_of
from broker.connections.connection import Connection
from broker.server.transport import PlainTransport, TransportMaker

if TYPE_CHECKING:
    from broker.server.tls_listeners import TlsListeners

HTTP_BACKLOG = 16

ANY_HOST = "0.0.0.0"  # noqa: S104
"""The host that an empty one stands for."""


class StartError(Exception):
    """The server cannot start; the text is one sentence for its operator."""


@dataclass(slots=True)
class Listener:
    """A bound socket, the address that its clients learn, and the transport of their bytes."""

    socket: socket.socket
    bound: Endpoint
    advertised: Endpoint | None
    transport: TransportMaker = PlainTransport
    name: str = SHORT_NAME
    needs_setup: bool = False
    """Whether clients must do something before they may send requests."""
    begin_login: Callable[[Connection], None] | None = None
    """Demands a login of a new client; None on listeners without SASL."""


def open_listeners(
    config: Config, tls: TlsListeners | None = None, sockets: Sequence[socket.socket] = ()
) -> list[Listener]:
    """Bind every address of `listeners`; `tls` has what the encrypted ones need, and must if there are any.

    `sockets` are bound already, one for each; none: all are bound here.

    Raises:
        StartError: an address is in use, not ours, or reached by others although no client logs in.
    """
    listeners: list[Listener] = []
    try:
        for number, spec in enumerate(config.specs):
            sock = sockets[number] if sockets else bind(spec, config)
            listeners.append(_listener(sock, spec, tls))
    except StartError:
        for listener in listeners:
            listener.socket.close()
        raise
    return listeners


def bind(spec: ListenerSpec, config: Config) -> socket.socket:
    """Return a listening socket for a listener.  Raises: StartError, as `open_listeners`."""
    endpoint = spec.endpoint
    family, address = _resolve(endpoint)
    is_local = ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback
    if not config.kawal_insecure and not is_local and (lack := lack_of(config, spec)):
        # A name may stand for an address that others reach.
        raise StartError(
            f"other machines could reach {endpoint.text} and {lack}, or give --insecure (kawal.insecure=true)"
            " if that is intended"
        )
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        if config.socket_receive_buffer_bytes > 0:
            # Before there are connections: the window scale is fixed when they are made.
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, config.socket_receive_buffer_bytes)
        sock.bind(address)
        sock.listen(config.socket_listen_backlog_size)
    except OSError as error:
        sock.close()
        hint = "another program has the port; stop it or choose another with --listen"
        raise StartError(
            f"cannot listen on {endpoint.text}: {(error.strerror or str(error)).lower()}"
            + (f" ({hint})" if error.errno == 98 else "")
        ) from error
    return sock


def _listener(sock: socket.socket, spec: ListenerSpec, tls: TlsListeners | None) -> Listener:
    host, port = sock.getsockname()[:2]
    bound = Endpoint(host, port)
    told = spec.advertised
    if told is not None and not told.port:
        told = told._replace(port=port)  # as in Kafka: no client can connect to port 0
    if not spec.protocol.encrypted:
        return Listener(sock, bound, told, name=spec.name, needs_setup=spec.protocol.sasl)
    assert tls is not None, "an encrypted listener has a certificate"
    return Listener(sock, bound, told, _tls_maker(tls, spec.name), name=spec.name, needs_setup=True)


def _tls_maker(tls: TlsListeners, name: str) -> TransportMaker:
    """Return the maker of transports with the TLS that the listener has at that moment."""
    from broker.server.tls_transport import TlsTransport  # OpenSSL takes 10 ms to import

    def make(sock: socket.socket, connection: Connection, *, host: str) -> TlsTransport:
        return TlsTransport(sock, connection, host=host, tls=tls.current[name])

    return make


def _resolve(endpoint: Endpoint) -> tuple[socket.AddressFamily, Any]:
    """Return the family and the address to bind."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            endpoint.host or ANY_HOST, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise StartError(f"cannot listen on {endpoint.text}: the host is unknown ({error})") from error
    return family, address


def open_http_listener(config: Config) -> tuple[socket.socket | None, str]:
    """Bind `kawal.http.listen`; return no socket, and the reason, if the default port is in use.

    Raises:
        StartError: the address that the operator asked for is in use or not ours.
    """
    cure = "choose another address with --http, or none"
    return _open_web(config, "kawal.http.listen", config.kawal_http_listen, "metrics", cure)


def open_console_listener(config: Config) -> tuple[socket.socket | None, str]:
    """Bind `kawal.console.listeners` likewise.  Raises: StartError."""
    cure = "choose another address with --set kawal.console.listeners=HOST:PORT, or none"
    return _open_web(config, "kawal.console.listeners", config.kawal_console_listeners, "the console", cure)


def _open_web(config: Config, key: str, text: str, what: str, cure: str) -> tuple[socket.socket | None, str]:
    """Bind an address of HTTP: one that is a default may be in use."""
    if text == HTTP_OFF:
        return None, ""
    endpoint = parse_endpoint(text)
    family, address = _resolve(endpoint)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(HTTP_BACKLOG)
    except OSError as error:
        sock.close()
        reason = f"cannot serve {what} on {endpoint.text}: {(error.strerror or str(error)).lower()}"
        if key in config.set_by_operator:
            raise StartError(f"{reason}; {cure}") from error
        return None, reason
    return sock, ""


def advertised_by(listener: Listener) -> tuple[str, int]:
    """Return the address that a listener names to those who did not come to it."""
    told = listener.advertised or listener.bound
    return told.host, told.port


def advertised_address(listener: Listener, sock: socket.socket) -> tuple[str, int]:
    """Return the address for the client of this socket: the configured one, else the one it connected to."""
    if listener.advertised is not None:
        return listener.advertised.host, listener.advertised.port
    host, port = sock.getsockname()[:2]
    host = host.removeprefix("::ffff:")
    return host, port
