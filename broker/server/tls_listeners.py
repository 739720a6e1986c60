"""The encrypted listeners of a server, and when their certificates are read again.

    at the start                     prepare, accept
    SIGHUP, a file has changed       prepare in a thread, accept           (server/reload.py)
    a client changes settings        read in a thread, expect, configured  (catalogue/listener_stores.py)
    it does so elsewhere             configured, look, prepare in a thread, accept

All is read and checked before any of it is in effect.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Final, NamedTuple

from broker.config.config import Config
from broker.config.tls_settings import TlsSettings
from broker.server.tls import Stamps, Tls, TlsError, make_tls, settings_of, stamps_of

logger = logging.getLogger("kawal.security")

WARN_DAYS: Final = (0, 1, 7, 30)
"""Days before the end of a certificate at which the log says so."""
DAY_S: Final = 86_400

EXPECTED_MAX: Final = 8
"""Sets of certificates read for changes of settings; more than one only while changes wait for the disk."""


class Prepared(NamedTuple):
    """The settings of all listeners, and the TLS of those that were read and checked; not in effect yet."""

    settings: dict[str, TlsSettings]
    stamps: dict[str, Stamps]
    made: dict[str, Tls]


class TlsListeners:
    """The encrypted listeners of a server, each with the TLS that new connections get.

    `prepare`, `read` and `changed` may run in a thread; everything else belongs to the event loop.
    """

    def __init__(self) -> None:
        self.current: dict[str, Tls] = {}
        self._settings: dict[str, TlsSettings] = {}
        self._stamps: dict[str, Stamps] = {}
        self._warned: dict[str, int] = {}
        # What was read for changes by clients, and what was in effect before them, the newest last.
        self._expected: deque[Prepared] = deque(maxlen=EXPECTED_MAX)
        self.look: Callable[[], object] = lambda: None
        """Called when clients have changed settings for which nothing was read: files are to be looked at."""

    def prepare(self, config: Config | None, only: Collection[str] | None = None) -> Prepared:
        """Read everything that listeners need, by the same settings if there is no configuration.

        With `only`, other listeners are read if their settings differ.  Nothing is in effect before `accept`.
        Raises: ConfigError, TlsError.
        """
        wanted = self._settings if config is None else settings_of(config)
        read = {
            name: settings
            for name, settings in wanted.items()
            if only is None or name in only or settings != self._settings.get(name)
        }
        stamps = {name: stamps_of(settings) for name, settings in read.items()}
        return Prepared(wanted, stamps, {name: make_tls(settings) for name, settings in read.items()})

    def is_outdated(self, prepared: Prepared) -> bool:
        """Whether the settings have changed since this was prepared by those of then."""
        return prepared.settings != self._settings

    def accept(self, prepared: Prepared) -> None:
        """Let new connections have what was prepared."""
        self._settings = prepared.settings
        self._stamps = self._stamps | prepared.stamps
        self.current = self.current | prepared.made
        self._warned.clear()

    def read(self, config: Config, listeners: Collection[str]) -> Prepared:
        """Read what these listeners need by a configuration that a client has changed.

        Raises: ConfigError, TlsError, also for a certificate of another server, unless that is allowed.
        """
        prepared = self.prepare(config, listeners)
        for name, tls in prepared.made.items():
            if name in self.current:
                _check_same_server(self.current[name], tls, config, name)
        return prepared

    def expect(self, read: Prepared) -> None:
        """Keep what was read for a change until the configuration is in effect."""
        self._expected.append(read)

    def configured(self, config: Config) -> None:
        """Let new connections have what was read for this configuration."""
        wanted = settings_of(config)
        read = next((read for read in reversed(self._expected) if read.settings == wanted), None)
        if read is None:
            # It is another node that has checked the change: a file may have new contents under its old name.
            self.look()
            if wanted == self._settings:
                return
        before = Prepared(self._settings, self._stamps, self.current)
        if read is not None:
            self._expected.remove(read)
            self.accept(read)
            for line in self.described(read.made):
                logger.info("a client has changed the settings: %s", line)
        else:
            # These were not read before: the files are looked at as if they had changed.
            self._settings, self._stamps = wanted, {}
        # The change is undone if it cannot be made durable.
        self._expected.append(before)

    def until_s(self) -> dict[str, int]:
        """Return the end of each listener's certificate, seconds since 1970."""
        return {name: tls.until_s for name, tls in self.current.items()}

    def changed(self) -> bool:
        """Whether a file has changed since it was read, or since this was asked."""
        now = {name: stamps_of(settings) for name, settings in self._settings.items()}
        changed = now != self._stamps
        self._stamps = now
        return changed

    def described(self, some: Mapping[str, Tls] | None = None) -> Iterator[str]:
        """Yield a line about the certificate of each listener, or of some."""
        for name, tls in (self.current if some is None else some).items():
            yield f"listener {name} has the certificate of {tls.subject!r}, valid until {_day(tls.until_s)}"

    def warn_of_expiry(self, now_s: float) -> None:
        """Log certificates that are about to expire, once at each of the limits."""
        for name, tls in self.current.items():
            left_days = (tls.until_s - now_s) / DAY_S
            limit = next((days for days in WARN_DAYS if left_days <= days), None)
            if limit is None or self._warned.get(name) == limit:
                continue
            self._warned[name] = limit
            what = f"the certificate {tls.subject!r} of the listener {name}"
            if left_days <= 0:
                logger.error("%s has expired (%s): clients refuse it", what, _day(tls.until_s))
            else:
                logger.warning("%s expires in %.1f days (%s)", what, left_days, _day(tls.until_s))


def _check_same_server(before: Tls, after: Tls, config: Config, listener: str) -> None:
    """Refuse a certificate by which clients would not find the server they know.  Raises: TlsError.

    Source: SslFactory.CertificateEntries of Kafka 4.3, KIP-978.
    """
    prefix = f"listener.name.{listener.lower()}."
    if after.subject != before.subject and not config.of_listener(listener, "ssl.allow.dn.changes"):
        raise TlsError(
            f"the certificate of the listener {listener} is for {before.subject!r}, and the new one for"
            f" {after.subject!r}; have it made for the same name, or start with"
            f" {prefix}ssl.allow.dn.changes=true"
        )
    lost = sorted(before.alternative_names - after.alternative_names)
    if lost and not config.of_listener(listener, "ssl.allow.san.changes"):
        raise TlsError(
            f"the new certificate of the listener {listener} lacks alternative names of the one in use,"
            f" {', '.join(lost)}; have it made for them, too, or start with"
            f" {prefix}ssl.allow.san.changes=true"
        )


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
