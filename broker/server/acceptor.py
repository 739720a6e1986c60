"""Accepting connections as far as the limits allow; without file descriptors, the listeners pause."""

from __future__ import annotations

import errno
import logging
import select
import socket
from collections.abc import Callable, Iterable
from typing import Final

from broker.config.listener_keys import PREFIX
from broker.config.quota_keys import INT_MAX, per_ip_overrides
from broker.connections.admission import Admission
from broker.connections.arrivals import DELAYED_MAX, Arrivals
from broker.connections.newcomers import Newcomers
from broker.core import Broker
from broker.loop.listener_stats import ListenerStats
from broker.security.addresses import canonical
from broker.security.quota_rates import Windows
from broker.security.quotas import CONNECTION_RATE
from broker.server.listeners import Listener, advertised_address
from broker.server.transport import Transport

logger = logging.getLogger("kawal.server")

ACCEPT_SHARE_NS: Final = 500_000
"""The time of a turn for new clients: a crowd of them waits in the kernel's queue, beside clients at work."""

REST_MS_MAX: Final = 1_000
"""The longest time without new clients when they come at too high a rate: the limit may be raised."""

V4_MAPPED: Final = "::ffff:"
"""How a listener for both kinds of addresses shows one of IPv4."""

MAX_CONNECTIONS: Final = "max.connections"
CREATION_RATE: Final = "max.connection.creation.rate"

PAUSE_MS: Final = 100
"""The pause in accepting when the system has no file descriptor left: retrying at once would spin."""


class Acceptor:
    """The listeners of a reactor, watched by its epoll.

    `admitted(transport)` is called for each new connection.
    """

    def __init__(
        self,
        broker: Broker,
        *,
        listeners: list[Listener],
        epoll: select.epoll,
        connection_room: int,
        admitted: Callable[[Transport], None],
    ) -> None:
        self._broker = broker
        self._listeners = {listener.socket.fileno(): listener for listener in listeners}
        self._epoll = epoll
        self._admission = Admission(connection_room)
        self._admitted = admitted
        self._newcomers = Newcomers()
        config = broker.config
        self._arrivals = Arrivals(Windows(config.quota_window_num, config.quota_window_size_seconds * 1_000))
        # Connections of addresses above their quota, which are closed after a while.
        self._delayed = 0
        self._overrides_text, self._overrides_read = "", dict[str, int]()
        self._counts = broker.stats.listeners
        for listener in listeners:
            self._counts.setdefault(listener.name, ListenerStats())
        self._watched: set[int] = set()
        self._watch(self._listeners)

    def __contains__(self, descriptor: int) -> bool:
        """Whether the descriptor is that of a listener."""
        return descriptor in self._listeners

    def _watch(self, descriptors: Iterable[int]) -> None:
        for descriptor in descriptors:
            if descriptor in self._listeners and descriptor not in self._watched:
                self._watched.add(descriptor)
                self._epoll.register(descriptor, select.EPOLLIN)

    def _unwatch(self, descriptors: Iterable[int]) -> None:
        for descriptor in self._watched.intersection(descriptors):
            self._watched.discard(descriptor)
            self._epoll.unregister(descriptor)

    def accept(self, descriptor: int, now_ms: int) -> None:
        """Accept the clients that wait at a listener, as long as there is time."""
        listener = self._listeners[descriptor]
        clock_ns = self._broker.stats.turns.clock_ns
        ends_ns = clock_ns() + ACCEPT_SHARE_NS
        while clock_ns() <= ends_ns:
            if self._comes_too_fast(listener, descriptor, now_ms):
                return
            try:
                sock, address = listener.socket.accept()
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                self._pause(error, now_ms)
                return
            host = str(address[0]).removeprefix(V4_MAPPED)
            self._admit(listener, sock, host, int(address[1]), now_ms)

    def _comes_too_fast(self, listener: Listener, descriptor: int, now_ms: int) -> bool:
        """Whether clients come at too high a rate; those that wait then rest in the kernel's queue."""
        resting: Iterable[int] = self._listeners
        rate_max = self._broker.config.max_connection_creation_rate
        wait_ms = 0 if rate_max == INT_MAX else self._arrivals.pause_ms(rate_max, now_ms)
        if not wait_ms and (own_max := self._own(listener, CREATION_RATE)) is not None:
            resting = (descriptor,)
            wait_ms = self._arrivals.listener_pause_ms(listener.name, own_max, now_ms)
        if not wait_ms:
            return False
        self._counts[listener.name].rests += 1
        self._rest(resting, min(wait_ms, REST_MS_MAX), now_ms)
        return True

    def _own(self, listener: Listener, key: str) -> int | None:
        """Return a limit that this listener alone has, None if it has none."""
        overrides = self._broker.config.listener_overrides
        if not overrides:
            return None
        value = overrides.get(f"{PREFIX}{listener.name.lower()}.{key}")
        assert value is None or isinstance(value, int), key
        return value

    def _pause(self, error: OSError, now_ms: int) -> None:
        """Leave the waiting clients in the kernel's queue for a while; the listener stays readable."""
        advice = "; raise the limit of open files" if error.errno in (errno.EMFILE, errno.ENFILE) else ""
        logger.warning("cannot accept connections for %d ms: %s%s", PAUSE_MS, error.strerror, advice)
        self._rest(self._listeners, PAUSE_MS, now_ms)

    def _rest(self, descriptors: Iterable[int], wait_ms: int, now_ms: int) -> None:
        resting = tuple(descriptors)
        self._unwatch(resting)
        self._broker.timers.add(now_ms + wait_ms, lambda _: self._watch(resting))

    def _admit(self, listener: Listener, sock: socket.socket, host: str, port: int, now_ms: int) -> None:
        config = self._broker.config
        self._count_arrival(listener, now_ms)
        refusal = self._refusal(listener, host)
        if refusal is None and (quotas := self._broker.catalogue.quotas.values):
            wait_ms = self._arrivals.host_wait_ms(host, quotas, now_ms)
            if wait_ms:
                self._counts[listener.name].refused += 1
                self._delay(sock, host, wait_ms, now_ms)
                return
        if refusal is not None:
            sock.close()
            self._broker.stats.connections_refused += 1
            self._counts[listener.name].refused += 1
            if count := self._admission.refused(now_ms):
                logger.warning("refused %d connections, the last one from %s: %s", count, host, refusal)
            return
        self._set_options(sock)
        connection = self._broker.connect(
            peer=f"{host}:{port}",
            descriptor=sock.fileno(),
            advertised=advertised_address(listener, sock),
            now_ms=now_ms,
        )
        connection.listener = listener.name
        if listener.needs_setup:
            connection.ready_by_ms = now_ms + config.kawal_connection_setup_timeout_ms
            self._newcomers.enter(connection)
        if listener.begin_login is not None:
            listener.begin_login(connection)
        self._admission.enter(host)
        counts = self._counts[listener.name]
        counts.open += 1
        counts.opened += 1
        self._admitted(listener.transport(sock, connection, host=host))

    def _count_arrival(self, listener: Listener, now_ms: int) -> None:
        if self._broker.config.max_connection_creation_rate < INT_MAX:
            self._arrivals.accepted(now_ms)
        if self._own(listener, CREATION_RATE) is not None:
            self._arrivals.accepted_at(listener.name, now_ms)

    def _refusal(self, listener: Listener, host: str) -> str | None:
        config = self._broker.config
        own_max = self._own(listener, MAX_CONNECTIONS)
        if own_max is not None and self._counts[listener.name].open >= own_max:
            return f"{PREFIX}{listener.name.lower()}.{MAX_CONNECTIONS}={own_max} is reached"
        own = self._overrides.get(host) if config.max_connections_per_ip_overrides else None
        if own is None:
            return self._admission.refusal(
                host, count_max=config.max_connections, host_count_max=config.max_connections_per_ip
            )
        return self._admission.refusal(
            host,
            count_max=config.max_connections,
            host_count_max=own,
            name="max.connections.per.ip.overrides",
        )

    @property
    def _overrides(self) -> dict[str, int]:
        text = self._broker.config.max_connections_per_ip_overrides
        if text != self._overrides_text:
            limits = {canonical(host): count for host, count in per_ip_overrides(text).items()}
            self._overrides_text, self._overrides_read = text, limits
        return self._overrides_read

    def _delay(self, sock: socket.socket, host: str, wait_ms: int, now_ms: int) -> None:
        """Close a connection after a while: the address has made more of late than its quota allows."""
        stats = self._broker.stats
        stats.connections_refused += 1
        stats.throttled[CONNECTION_RATE] += 1
        stats.throttled_ms[CONNECTION_RATE] += wait_ms
        if count := self._admission.refused(now_ms):
            logger.warning(
                "refused %d connections, the last one from %s: its connection_creation_rate is reached",
                count,
                host,
            )
        if self._delayed >= DELAYED_MAX:
            sock.close()
            return
        self._delayed += 1

        def close(_now_ms: int) -> None:
            self._delayed -= 1
            sock.close()

        self._broker.timers.add(now_ms + wait_ms, close)

    def _set_options(self, sock: socket.socket) -> None:
        sock.setblocking(False)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        # A client whose machine has crashed says nothing; its parked calls would stay.
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        buffer_bytes = self._broker.config.socket_send_buffer_bytes
        if buffer_bytes > 0:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_bytes)

    def left(self, host: str, listener: str) -> None:
        """Note that a connection from this address, which had come to this listener, has ended."""
        self._admission.leave(host)
        self._counts[listener].open -= 1

    def close(self) -> None:
        """Stop listening; existing connections continue."""
        self._unwatch(self._listeners)
        for listener in self._listeners.values():
            listener.socket.close()
        self._listeners.clear()
