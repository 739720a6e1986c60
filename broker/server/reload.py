"""Reading the configuration file again while the server runs, on SIGHUP.

read, in a thread (the file may lie on a slow disk)      any error: it is logged, nothing changes
compare with the values in effect                        broker/config/config_reload.py
apply what can take effect, as one change                broker/catalogue/live_config.py
log what changed, and once what needs a restart
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from broker.config.config import Config
from broker.config.config_keys import ConfigProblem
from broker.config.config_reload import HIDDEN, KeyChange, Reload, reloaded
from broker.config.config_sources import LoadedConfig
from broker.config.server_keys import KEYS
from broker.core import Broker
from broker.loop.internal_errors import ErrorPlace
from broker.server import logs
from broker.server.notify import READY, tell_supervisor

if TYPE_CHECKING:
    from broker.server.tls_listeners import TlsListeners

logger = logging.getLogger("kawal.server")

WATCH_SECONDS = 10.0
"""The time after which a new certificate is noticed."""

NOTIFY_SECONDS = 0.1
"""The longest wait for a supervisor that takes nothing: the event loop waits, too."""

SHOWN_MAX = 200
"""Characters of a key's change in the log."""

Load = Callable[[], LoadedConfig]
"""Reads file, environment and flags as the start did.  Raises: ConfigProblem."""


class Reloader:
    """Applies the configuration file again whenever it is asked to; `load` is None when there is no file."""

    def __init__(self, broker: Broker, load: Load | None, tls: TlsListeners | None = None) -> None:
        self._broker = broker
        self._load = load
        self._tls = tls
        self._one_at_a_time = trio.Lock()
        # The values that need a restart and were named in the log, by key.
        self._named: dict[str, str] = {}
        self._warned: tuple[str, ...] = ()

    async def reload(self) -> None:
        """Read and apply the file; whatever is wrong with it is logged and changes nothing."""
        if self._load is None:
            logger.warning("SIGHUP: there is no configuration file to read again; start with --config FILE")
            if self._tls is None:
                return
        async with self._one_at_a_time:
            # sd_notify(3): READY ends the state "reloading", whatever the outcome.
            began = f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}"
            tell_supervisor(began, os.environ, wait_seconds=NOTIFY_SECONDS)
            try:
                await self._read_and_apply()
            except ConfigProblem as problem:
                logger.error("SIGHUP: the configuration was not changed: %s", problem)
            except Exception as error:  # noqa: BLE001  (the net)
                self._broker.internal_errors.note(
                    ErrorPlace.BACKGROUND, "reading the configuration again", error
                )
            tell_supervisor(READY, os.environ, wait_seconds=NOTIFY_SECONDS)

    async def _read_and_apply(self) -> None:
        """Read the file and the certificates again, and apply both if both are right."""
        if self._load is None:
            await self._renew_certificates("SIGHUP")
            return
        loaded = await trio.to_thread.run_sync(self._load, abandon_on_cancel=True)
        if self._tls is not None:
            live = self._broker.live_config
            outcome = reloaded(live.static, loaded.config)
            await self._renew_certificates("SIGHUP", live.with_static(outcome.config))
        self.apply(loaded)

    async def watch_certificates(self) -> None:
        """Read certificates again whenever a file with them has changed; a wrong one changes nothing."""
        tls = self._tls
        assert tls is not None, "there are encrypted listeners"
        while True:
            self._broker.stats.certificates_until_s = tls.until_s()
            tls.warn_of_expiry(time.time())
            woken = trio.Event()
            tls.look = woken.set
            with trio.move_on_after(WATCH_SECONDS):
                await woken.wait()
            async with self._one_at_a_time:
                if await trio.to_thread.run_sync(tls.changed, abandon_on_cancel=True):
                    try:
                        await self._renew_certificates("a file has changed")
                    except ConfigProblem as problem:
                        logger.error("the certificates in use were kept: %s", problem)

    async def _renew_certificates(self, why: str, config: Config | None = None) -> None:
        """Read the certificates by this configuration, else as before.  Raises: ConfigProblem."""
        tls = self._tls
        assert tls is not None, "there are encrypted listeners"
        while True:
            prepared = await trio.to_thread.run_sync(tls.prepare, config)
            if config is not None or not tls.is_outdated(prepared):
                break  # else a client has changed settings meanwhile
        tls.accept(prepared)
        self._broker.stats.certificates_until_s = tls.until_s()
        for line in tls.described():
            logger.info("%s: %s", why, line)

    def apply(self, loaded: LoadedConfig) -> Reload:
        """Apply a configuration that was read and checked, and log the outcome."""
        live = self._broker.live_config
        before = live.current
        outcome = reloaded(live.static, loaded.config)
        for warning in loaded.warnings:
            if warning not in self._warned:
                # A whole message, not an argument: the log cuts each argument, and this may name many keys.
                logger.warning(warning)
        self._warned = loaded.warnings
        if outcome.config != live.static:
            live.change_static(outcome.config)
        self._report(outcome)
        audit = self._broker.stats.audit
        if audit is not None and outcome.changed:
            audit.reloaded({change.name: change.new for change in outcome.changed})
        _change_log(before, live.current)
        return outcome

    def _report(self, outcome: Reload) -> None:
        changed = ", ".join(map(self._with_clients, outcome.changed)) or "nothing"
        # Whole messages, not arguments: the log cuts each argument, and this may name many keys.
        logger.info(f"SIGHUP: the configuration was read again; changed: {changed}")
        waiting = [change for change in outcome.waiting if self._named.get(change.name) != change.new]
        self._named = {change.name: change.new for change in outcome.waiting}
        if waiting:
            names = ", ".join(map(_cut, waiting))
            logger.warning(f"SIGHUP: these take effect at the next start only: {names}")

    def _with_clients(self, change: KeyChange) -> str:
        """Return the change in words, and the setting made by clients that stands over it."""
        layers = self._broker.live_config.layers
        for texts in (layers.node, layers.cluster):
            if change.name in texts:
                shown = HIDDEN if KEYS[change.name].sensitive else texts[change.name]
                return f"{_cut(change)} (not in effect: clients have set {_cut(shown)})"
        return _cut(change)


def _cut(shown: object) -> str:
    text = str(shown)
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def _change_log(before: Config, after: Config) -> None:
    """Apply level and format of the log."""
    if (before.kawal_log_format, before.kawal_log_level) != (after.kawal_log_format, after.kawal_log_level):
        logs.set_up(json_lines=after.kawal_log_format == "json", level=after.kawal_log_level)
