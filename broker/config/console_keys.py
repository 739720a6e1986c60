"""The keys of the web console that the server starts, and what they must fit together with."""

from __future__ import annotations

import re
from collections.abc import Sequence

from broker.config.config_keys import ConfigError, ConfigType, Key
from broker.config.endpoints import HTTP_OFF, http_problem, is_loopback, parse_endpoint
from broker.config.listener_specs import ListenerSpec

_MASK = re.compile(r"[A-Za-z0-9._*?-]{1,249}(:.+)?")


def masks_problem(masks: object) -> str | None:
    """Return what is wrong with masks (console/web/masks.py); None if they are right."""
    assert isinstance(masks, tuple)
    wrong = next((mask for mask in masks if not _MASK.fullmatch(mask)), None)
    return None if wrong is None else f"{wrong!r} is not TOPIC or TOPIC:PART"


CONSOLE_KEYS = (
    Key(
        "kawal.console.listeners",
        ConfigType.STRING,
        "127.0.0.1:9645",
        "Where the web console is, HOST:PORT; a process of its own, which starts with the first connection "
        "and ends when it has been idle for 15 minutes.  Port 0 takes a free one, "
        f"`{HTTP_OFF}` serves none.  If the default port is taken, the server runs without.  An address that "
        "other machines reach needs a listener with SASL, whose users log in, unless `kawal.insecure`.",
        check=http_problem,
    ),
    Key(
        "kawal.console.read.only",
        ConfigType.BOOLEAN,
        False,
        "Whether the web console sends no request that changes something.",
    ),
    Key(
        "kawal.console.hosts",
        ConfigType.LIST,
        (),
        "Names by which browsers call the web console, besides localhost and addresses of loopback; under "
        "any other name it does not answer.",
    ),
    Key(
        "kawal.console.masks",
        ConfigType.LIST,
        (),
        "Parts of records that the web console shows to no one: `TOPIC:key`, `TOPIC:value`, `TOPIC:headers`, "
        "`TOPIC:column`, or `TOPIC` for all of them; the topic may have `*` in it.  Searches and views "
        "cannot look at them there.",
        check=masks_problem,
    ),
)


def check_console(address: str, insecure: bool, specs: Sequence[ListenerSpec]) -> None:
    """Raise ConfigError for an address that others reach where no one can log in."""
    if insecure or address == HTTP_OFF or is_loopback(parse_endpoint(address).host):
        return
    if not any(spec.protocol.sasl for spec in specs):
        raise ConfigError(
            "kawal.console.listeners",
            address,
            "other machines could reach this address, and there is no listener with SASL, whose users could"
            " log in; add one, bind 127.0.0.1, or allow it with --insecure (kawal.insecure=true)",
        )
