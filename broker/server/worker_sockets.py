"""The sockets of all workers: consecutive ports for each listener, and Unix sockets in the data directory.

They are bound once and stay open as long as the server runs: clients of a worker that has died wait in the
kernel's queue until it has started again.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import pairwise
from typing import Final

from broker.config.config import Config
from broker.config.listener_specs import ListenerSpec
from broker.config.worker_share import of_worker
from broker.server.listeners import StartError, bind
from broker.server.place import address_of, pages_name, requests_name

PORT_MAX: Final = 65_535

TRIES: Final = 100
"""The number of times that free ports in a row are looked for."""

INNER_BACKLOG: Final = 128


class WorkerSockets:
    """The sockets of all workers, and the descriptor of their directory; `opened` closes them at the end."""

    def __init__(self, config: Config, opened: ExitStack) -> None:
        count = config.kawal_workers
        self.inner: list[tuple[socket.socket, socket.socket]] = []
        self.listeners = bind_listeners(config, count)
        opened.callback(self.close)
        self.directory = os.open(config.log_dirs, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        opened.callback(os.close, self.directory)
        names = [name(number) for number in range(count) for name in (requests_name, pages_name)]
        opened.callback(remove_inner, self.directory, names)
        for number in range(count):
            requests = bind_inner(self.directory, requests_name(number))
            self.inner.append((requests, bind_inner(self.directory, pages_name(number))))

    def close(self) -> None:
        """Close all."""
        for sock in self._every():
            sock.close()

    def _every(self) -> list[socket.socket]:
        return [sock for row in (*self.listeners, *self.inner) for sock in row]

    def keep(self, number: int) -> None:
        """Close those of the other workers, in the process of one."""
        own = {*self.listeners[number], *self.inner[number]}
        for sock in self._every():
            if sock not in own:
                sock.close()


def bind_listeners(config: Config, count: int) -> list[list[socket.socket]]:
    """Return for each worker a socket for each listener.

    Raises:
        StartError: an address is in use, not ours, or reached by others although no client logs in.
    """
    check_ports(config.specs, count)
    columns: list[list[socket.socket]] = []
    with ExitStack() as opened:
        for index in range(len(config.specs)):
            column = _bind_column(config, index, count)
            columns.append(column)
            for sock in column:
                opened.callback(sock.close)
        opened.pop_all()
    return [list(row) for row in zip(*columns, strict=True)]


def check_ports(specs: Iterable[ListenerSpec], count: int) -> None:
    """Refuse listeners whose workers would have the same ports, or none.  Raises: StartError."""
    ports = sorted({spec.endpoint.port for spec in specs if spec.endpoint.port})
    for port, following in pairwise(ports):
        if following - port < count:
            raise StartError(
                f"with kawal.workers={count} a listener takes {count} ports in a row, and those of ports"
                f" {port} and {following} overlap; choose ports that are {count} or more apart"
            )
    if ports and ports[-1] + count - 1 > PORT_MAX:
        raise StartError(
            f"with kawal.workers={count} the listener of port {ports[-1]} takes {count} ports in a row, and"
            f" there are none above {PORT_MAX}; choose a lower one"
        )


def _bind_column(config: Config, index: int, count: int) -> list[socket.socket]:
    """Return the sockets of one listener for all workers.  Raises: StartError."""
    if config.specs[index].endpoint.port:
        specs = [of_worker(config, number, count).specs[index] for number in range(count)]
        return _bind_all(specs, config)
    for _ in range(TRIES):
        found = _bind_free_row(config.specs[index], config, count)
        if found is not None:
            return found
    raise StartError(f"no {count} free ports in a row were found; name a port with --listen")


def _bind_free_row(spec: ListenerSpec, config: Config, count: int) -> list[socket.socket] | None:
    """Return sockets on a free port and those after it; None if one of these is in use."""
    first = bind(spec, config)
    port = first.getsockname()[1]
    others = [
        spec._replace(endpoint=spec.endpoint._replace(port=port + number)) for number in range(1, count)
    ]
    if port + count - 1 <= PORT_MAX:
        with suppress(StartError):
            return [first, *_bind_all(others, config)]
    first.close()
    return None


def _bind_all(specs: Iterable[ListenerSpec], config: Config) -> list[socket.socket]:
    found: list[socket.socket] = []
    with ExitStack() as opened:
        for spec in specs:
            found.append(bind(spec, config))
            opened.callback(found[-1].close)
        opened.pop_all()
    return found


def bind_inner(directory: int, name: str) -> socket.socket:
    """Return a listening Unix socket in a directory that is ours alone; one that was left there is replaced.

    Raises: StartError.
    """
    sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=directory)
        # Before there are permissions to give: the mask makes it the owner's alone from the first moment.
        mask = os.umask(0o177)
        try:
            sock.bind(address_of(directory, name))
        finally:
            os.umask(mask)
        sock.listen(INNER_BACKLOG)
        sock.setblocking(False)
    except OSError as error:
        sock.close()
        raise StartError(
            f"cannot make the socket {name} in the data directory: {error.strerror or error}"
        ) from error
    return sock


def remove_inner(directory: int, names: Iterable[str]) -> None:
    """Remove the files of Unix sockets at the end."""
    for name in names:
        with suppress(OSError):
            os.unlink(name, dir_fd=directory)
