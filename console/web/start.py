"""The start of the console: alone by its command, or as the child of a gateway that hands it its socket."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from functools import partial

from broker.config.endpoints import is_loopback
from broker.server import logs
from console.errors import CommandError
from console.security import PLAIN, Security
from console.web.hand_over import HandOver, read_hand_over
from console.web.kafka_door import KafkaDoor
from console.web.masks import Mask, Masks, parse_mask
from console.web.process import IDLE_SECONDS, go_before_the_log, serve
from console.web.search_processes import SearchProcesses
from console.web.site import Console
from console.web.visit import Gateway, Settings

STDIN = 0


def serve_alone(
    listening: socket.socket,
    *,
    bootstrap: str,
    security: Security,
    read_only: bool,
    login: bool,
    https: bool,
    hosts: tuple[str, ...],
    masks: Sequence[Mask] = (),
) -> None:
    """Serve until a signal, and print the address."""
    logs.set_up(json_lines=False, level="info")
    host, port = listening.getsockname()[:2]
    settings = Settings(
        bootstrap=bootstrap,
        read_only=read_only,
        login=login,
        https=https,
        loopback=is_loopback(host),
        hosts=hosts,
        masks=Masks(masks),
    )
    shown = f"[{host}]" if ":" in host else host

    def ready() -> None:
        print(f"kawal console http://{shown}:{port}", flush=True)

    serve(partial(_console, settings, security, alone=False), listening, ready)


def serve_handed_over(flags: tuple[str, ...]) -> None:
    """Serve on the socket of the gateway that has started this process, until it ends or there is no need.

    `flags` are those of the gateway.
    """
    given = read_hand_over(STDIN)
    logs.set_up(json_lines=given.json_lines, level=given.level)
    go_before_the_log()
    try:
        listening = socket.socket(fileno=given.listening)
    except OSError as error:
        raise CommandError(f"the gateway's socket cannot be used: {error.strerror or error}") from error
    with listening:
        settings = _handed_settings(given, str(listening.getsockname()[0]), flags)
        security = PLAIN
        if given.protocol != "PLAINTEXT":
            security = Security(given.protocol, given.mechanism, ca=given.ca, checks_host=False)
        make = partial(_console, settings, security, alone=True)
        serve(make, listening, idle_seconds=IDLE_SECONDS, lifeline=STDIN)


def _handed_settings(given: HandOver, host: str, flags: tuple[str, ...]) -> Settings:
    return Settings(
        bootstrap=given.bootstrap,
        read_only=given.read_only,
        login=given.protocol.startswith("SASL"),
        loopback=is_loopback(host),
        hosts=given.hosts,
        masks=Masks(map(parse_mask, given.masks)),
        gateway=Gateway(flags, given.metrics),
    )


def _console(settings: Settings, security: Security, *, alone: bool) -> Console:
    search = SearchProcesses().run
    door = KafkaDoor(settings.bootstrap, read_only=settings.read_only, alone=alone, search=search)
    return Console(settings, door, security=security)
