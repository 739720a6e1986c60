"""The check whether a server answers, by ApiVersions, the request every client begins with."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import NamedTuple

from broker.config.config_sources import load
from broker.config.endpoints import Endpoint
from console.admin import ask, check
from console.client import BOOTSTRAP_VARIABLE
from console.server_flags import CONFIG_VARIABLE
from protocol.messages.api_versions import ApiVersionsRequest

ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104  (nothing is bound to it here)
"""The address at which a server that listens on every address is reached from its own machine."""


class Health(NamedTuple):
    """A server's answer: the number of its APIs, and the time it took."""

    apis: int
    milliseconds: float


def ask_health(bootstrap: str) -> Health:
    """Ask a server for its APIs.  Raises: CommandError when it does not answer as it should."""
    began = time.perf_counter()
    answer = ask(
        bootstrap, ApiVersionsRequest(client_software_name="kawal-cli", client_software_version="1"), 3
    )
    check(answer.error_code, None, bootstrap)
    return Health(len(answer.api_keys), (time.perf_counter() - began) * 1000)


def reachable(endpoint: Endpoint) -> str:
    """Return the address at which a listener is reached from its own machine."""
    return Endpoint(ANY_ADDRESS.get(endpoint.host, endpoint.host), endpoint.port).text


def own_address(environment: Mapping[str, str]) -> str:
    """Return the address of the server that this environment is set up for, as a container's is.

    KAWAL_BOOTSTRAP, else the first listener of the configuration without TLS.  Raises: ConfigProblem.
    """
    named = environment.get(BOOTSTRAP_VARIABLE)
    if named:
        return named
    loaded = load(file=environment.get(CONFIG_VARIABLE), environment=environment)
    specs = loaded.config.specs
    plain = (spec for spec in specs if not spec.protocol.encrypted)
    return reachable(next(plain, specs[0]).endpoint)
