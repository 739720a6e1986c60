"""The web console's process, started by the first connection to its address.

The server binds the address and watches the socket.  When a client connects, it starts the console with that
socket and accepts nothing itself; when the console has ended, idle or broken, it watches again.  So a server
whose console is not used pays for a socket, and one whose console is used for no page of it.

The console reads one line of JSON from its standard input (console/web/hand_over.py), which then stays open:
it ends with the server, however that ends.  Nothing that happens to it ends the server.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
import trio

from broker.config.endpoints import Endpoint, is_loopback
from broker.config.listener_specs import WILDCARDS, SecurityProtocol
from broker.loop.internal_errors import ErrorPlace, InternalErrors

if TYPE_CHECKING:
    from broker.config.config import Config
    from broker.server.listeners import Listener

logger = logging.getLogger("kawal.console")

STARTS_APART_SECONDS: Final = 10
"""The least time between two starts: a console that breaks at once must not take a processor."""
END_SECONDS: Final = 2
"""The time in which a console must end with the server, before it is killed."""
TURNED_AWAY_MAX: Final = 64

SUPERVISION: Final = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""Variables by which a supervisor talks to the server, and to no one else."""

NO_CONSOLE: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 60\r\n"
    b"Retry-After: 10\r\nConnection: close\r\n\r\n"
    b"the console could not start; the server's log has the cause\n"
)

EASIEST: Final = (
    SecurityProtocol.PLAINTEXT,
    SecurityProtocol.SASL_PLAINTEXT,
    SecurityProtocol.SSL,
    SecurityProtocol.SASL_SSL,
)
"""The listener that the console connects to: on this machine it needs no encryption."""
MECHANISMS: Final = ("SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN")
"""Mechanisms of its logins, the best first."""


class ConsoleProgram(NamedTuple):
    """The program that is the console."""

    command: Sequence[str]
    environment: Mapping[str, str]
    announce: Callable[[str], None]
    """Called with the console's URL once the server is ready."""


class ConsoleHost:
    """Watches the console's socket and starts its process."""

    def __init__(
        self,
        listening: socket.socket,
        program: ConsoleProgram,
        hand_over: Mapping[str, object],
        errors: InternalErrors,
    ) -> None:
        self._listening = listening
        self._program = program
        self._hand_over = {**hand_over, "listening": listening.fileno()}
        self._errors = errors

    async def run(self) -> None:
        """Start the console whenever it is needed, until cancelled."""
        started = -float("inf")
        while True:
            await trio.lowlevel.wait_readable(self._listening)
            await trio.sleep_until(started + STARTS_APART_SECONDS)
            started = trio.current_time()
            try:
                await self._run_once()
            except OSError as error:
                logger.error("the web console cannot be started: %s", error)
                self._turn_away()
            except Exception as error:  # noqa: BLE001  (the net)
                self._errors.note(ErrorPlace.HTTP, "the web console's process", error)
                self._turn_away()

    async def _run_once(self) -> None:
        """Run the console's process to its end; when cancelled, end it."""
        began = trio.current_time()
        process = await trio.lowlevel.open_process(
            list(self._program.command),
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            pass_fds=[self._listening.fileno()],
            env=self._environment(),
            # Ctrl-C in a terminal is for the server, which ends it. It stays in the server's session: Linux
            # shares the processors among sessions first, and searches would take as much as the server.
            process_group=0,
        )
        assert process.stdin is not None
        try:
            await process.stdin.send_all(msgspec.json.encode(self._hand_over) + b"\n")
            status = await process.wait()
        except trio.BrokenResourceError:
            status = await process.wait()
        finally:
            with trio.CancelScope(shield=True):
                await self._end(process)
        if status:
            seconds = trio.current_time() - began
            logger.error(
                "the web console ended after %.1f s with status %d; its words are above", seconds, status
            )
            self._turn_away()

    async def _end(self, process: trio.Process) -> None:
        """Close the lifeline, at whose end the console ends; kill it if it does not."""
        assert process.stdin is not None
        await process.stdin.aclose()
        with trio.move_on_after(END_SECONDS) as in_time:
            await process.wait()
        if in_time.cancelled_caught:
            process.kill()
            await process.wait()

    def _environment(self) -> dict[str, str]:
        kept = {name: value for name, value in os.environ.items() if name not in SUPERVISION}
        return {**kept, **self._program.environment}

    def _turn_away(self) -> None:
        """Tell those who wait that there is no console; they would bring about the next start otherwise."""
        for _ in range(TURNED_AWAY_MAX):
            try:
                client, _ = self._listening.accept()
            except OSError:
                return  # there is no one left
            with client:
                client.setblocking(False)
                try:
                    # What it has asked is read, or the answer would be lost with it.
                    client.recv(65536)
                    client.send(NO_CONSOLE)
                except OSError as error:
                    logger.debug("a browser was not told that there is no console: %s", error)


def hand_over_of(
    config: Config, listeners: Sequence[Listener], http: socket.socket | None
) -> dict[str, object]:
    """Return what the console is told: the way to the easiest listener, and the operator's choices."""
    specs = {spec.name: spec for spec in config.specs}
    listener = min(listeners, key=lambda each: EASIEST.index(specs[each.name].protocol))
    spec = specs[listener.name]
    host = "127.0.0.1" if listener.bound.host in WILDCARDS else listener.bound.host
    host = "::1" if listener.bound.host == "::" else host
    return {
        "bootstrap": Endpoint(host, listener.bound.port).text,
        "protocol": spec.protocol.value,
        "mechanism": _mechanism(config, spec.name) if spec.protocol.sasl else "",
        "ca": _certificates(config, spec.name) if spec.protocol.encrypted else None,
        "metrics": _open_metrics(http),
        "read_only": config.kawal_console_read_only,
        "hosts": [name.lower() for name in config.kawal_console_hosts],
        "masks": list(config.kawal_console_masks),
        "json_lines": config.kawal_log_format == "json",
        "level": config.kawal_log_level,
    }


def _open_metrics(http: socket.socket | None) -> str:
    """Return the address of the metrics, "" if they need a login or are not served."""
    if http is None:
        return ""
    host, port = http.getsockname()[:2]
    return Endpoint(host, port).text if is_loopback(host) else ""


def _mechanism(config: Config, listener: str) -> str:
    enabled = config.of_listener(listener, "sasl.enabled.mechanisms")
    assert isinstance(enabled, tuple)
    return next((name for name in MECHANISMS if name in enabled), "")


def _certificates(config: Config, listener: str) -> str | None:
    """Return the file with the certificate by which the listener is known."""
    found = config.of_listener(listener, "ssl.keystore.location")
    return None if found is None else str(found)


def url_of(listening: socket.socket) -> str:
    """Return the console's address for people."""
    host, port = listening.getsockname()[:2]
    return f"http://{Endpoint('127.0.0.1' if host in WILDCARDS else host, port).text}"
