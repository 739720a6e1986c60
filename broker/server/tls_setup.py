"""The TLS of a server with encrypted listeners, at its start."""

from __future__ import annotations

import os

from broker.catalogue.live_config import LiveConfig
from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.server.listeners import StartError
from broker.server.tls import TlsError, settings_of
from broker.server.tls_listeners import TlsListeners


def open_tls(config: Config) -> tuple[TlsListeners, StartError | None]:
    """Read what the listeners need by the operator's settings.

    What is wrong with it is returned if a client may have set something else, which is known only once the
    data directory has been opened.  Raises: StartError.
    """
    tls = TlsListeners()
    try:
        tls.accept(tls.prepare(config))
    except TlsError as error:
        problem = StartError(str(error))
        if not os.path.isdir(config.log_dirs):
            raise problem from error
        return tls, problem
    return tls, None


def adopt_tls(tls: TlsListeners, live: LiveConfig, problem: StartError | None) -> None:
    """Take over what clients have set, and let them change it.

    Raises: StartError, for the operator's settings if they are in effect, or for those of clients: a listener
    does not open with less than it is to have.
    """
    live.stores = tls
    if settings_of(live.current) == settings_of(live.static):
        if problem is not None:
            raise problem
        return
    try:
        tls.accept(tls.prepare(live.current))
    except ConfigProblem as error:
        raise StartError(
            f"{error}; clients have set this, as configurations of broker {live.static.node_id}"
        ) from error
