"""Listeners that demand logins: files and keys are read, and each new connection gets its login."""

from __future__ import annotations

import logging
from collections.abc import Callable
from random import SystemRandom

from broker.config.config import Config
from broker.config.listener_specs import unencrypted
from broker.config.sasl_names import OAUTHBEARER
from broker.config.sasl_settings import OAuthSettings, sasl_settings
from broker.connections.logins import Logins
from broker.core import Broker
from broker.security.plain_passwords import PasswordFileError
from broker.security.sasl_oauthbearer import TokenKeysUnusable, Validator
from broker.server.listeners import Listener, StartError
from broker.server.password_file import PasswordFile

logger = logging.getLogger("kawal.server")

Run = Callable[[Callable[[], object], Callable[[Exception | None], None]], None]


def open_logins(broker: Broker, config: Config, listeners: list[Listener], run_outside: Run) -> None:
    """Let listeners with SASL demand logins; `run_outside` runs work that waits for other machines.

    Raises: StartError.
    """
    named = [spec.name for spec in config.specs if spec.protocol.sasl]
    for risk in filter(None, map(unencrypted, config.specs)):
        logger.warning("%s; use SASL_SSL", risk)
    mechanisms = {name: sasl_settings(config, name).mechanisms for name in named}
    logins = Logins(
        broker,
        config,
        broker.catalogue,
        SystemRandom(),
        PasswordFile,
        decoy_key=broker.store.identity.secret.encode(),
        validator=(
            _validator_maker(broker, run_outside)
            if any(OAUTHBEARER in own for own in mechanisms.values())
            else None
        ),
        tokens=broker.tokens,
    )
    try:
        for listener in listeners:
            if listener.name in named:
                listener.begin_login = logins.beginner(listener.name)
    except (PasswordFileError, TokenKeysUnusable) as error:
        raise StartError(str(error)) from error


def _validator_maker(broker: Broker, run_outside: Run) -> Callable[[OAuthSettings], Validator]:
    """Return what makes judges of tokens.  Raises: StartError, without the libraries that it takes."""
    try:
        from broker.server.jwks_source import validator_maker  # takes 0.1 s to import
    except ImportError as error:
        raise StartError(
            "the SASL mechanism OAUTHBEARER needs the library joserfc; install 'kawal[oauth]'"
        ) from error
    return validator_maker(broker, run_outside)
