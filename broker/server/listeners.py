"""The addresses on which the server listens, and those that its clients learn."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from typing import Any

from broker.config.config import Config
from broker.config.endpoints import HTTP_OFF, Endpoint, parse_endpoint
from broker.server.transport import PlainTransport, TransportMaker

HTTP_BACKLOG = 16


class StartError(Exception):
    """The server cannot start; the text is one sentence for its operator."""


@dataclass(slots=True)
class Listener:
    """A bound socket, the address that its clients learn, and the transport of their bytes."""

    socket: socket.socket
    bound: Endpoint
    advertised: Endpoint | None
    transport: TransportMaker = PlainTransport


def open_listeners(config: Config) -> list[Listener]:
    """Bind every address of `listeners`.

    Raises:
        StartError: an address is in use, not ours, or not loopback without `kawal.insecure`.
    """
    advertised = [parse_endpoint(text) for text in config.advertised_listeners]
    if advertised and len(advertised) != len(config.listeners):
        raise StartError(
            f"advertised.listeners names {len(advertised)} addresses and listeners {len(config.listeners)};"
            " give one for each, in the same order"
        )
    listeners: list[Listener] = []
    try:
        for number, text in enumerate(config.listeners):
            address = advertised[number] if advertised else None
            listeners.append(_open(parse_endpoint(text), address, config))
    except StartError:
        for listener in listeners:
            listener.socket.close()
        raise
    return listeners


def _open(endpoint: Endpoint, advertised: Endpoint | None, config: Config) -> Listener:
    family, address = _resolve(endpoint)
    if not config.kawal_insecure and not ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback:
        raise StartError(
            f"listening on {endpoint.text} would let other machines in without a password;"
            " give --insecure (kawal.insecure=true) if that is intended, or listen on 127.0.0.1"
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
    host, port = sock.getsockname()[:2]
    return Listener(sock, Endpoint(host, port), advertised)


def _resolve(endpoint: Endpoint) -> tuple[socket.AddressFamily, Any]:
    """Return the family and the address to bind."""
    try:
        family, _, _, _, address = socket.getaddrinfo(
            endpoint.host, endpoint.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except socket.gaierror as error:
        raise StartError(f"cannot listen on {endpoint.text}: the host is unknown ({error})") from error
    return family, address


def open_http_listener(config: Config) -> tuple[socket.socket | None, str]:
    """Bind `kawal.http.listen`; return no socket, and the reason, if the default port is in use.

    Raises:
        StartError: the address that the operator asked for is in use or not ours.
    """
    if config.kawal_http_listen == HTTP_OFF:
        return None, ""
    endpoint = parse_endpoint(config.kawal_http_listen)
    family, address = _resolve(endpoint)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setblocking(False)
        sock.bind(address)
        sock.listen(HTTP_BACKLOG)
    except OSError as error:
        sock.close()
        reason = f"cannot serve metrics on {endpoint.text}: {(error.strerror or str(error)).lower()}"
        if "kawal.http.listen" in config.set_by_operator:
            raise StartError(f"{reason}; choose another address with --http, or none") from error
        return None, reason
    return sock, ""


def advertised_address(listener: Listener, sock: socket.socket) -> tuple[str, int]:
    """Return the address for the client of this socket: the configured one, else the one it connected to."""
    if listener.advertised is not None:
        return listener.advertised.host, listener.advertised.port
    host, port = sock.getsockname()[:2]
    host = host.removeprefix("::ffff:")
    return host, port
