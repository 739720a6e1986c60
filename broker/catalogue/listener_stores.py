"""The keys and certificates of this node's encrypted listeners, changed by clients while the server runs.

    listener.name.<listener>.ssl.keystore.location and the like, of the BROKER resource with this node's id

All that a listener would need is read and checked in a thread, before the change is recorded: what cannot be
served is refused, and the listener keeps what it has.  Connections keep what they began with.  The owner of
what was read is the server (broker/server/tls.py).  Where there are several nodes the controller checks the
files, which all have in common.
Source: KIP-226; DynamicBrokerConfig and SslFactory of Kafka 4.3, checked on the wire with 4.3.1.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping
from functools import partial
from typing import Any

from broker.catalogue.config_resources import BrokerResource, Resource
from broker.catalogue.live_config import LiveConfig
from broker.config.config_keys import ConfigError, ConfigProblem
from broker.config.config_layers import with_node
from broker.config.listener_keys import tls_changed_by
from broker.errors import RequestError
from broker.loop.slices import Offload, Until, in_thread
from protocol.error_codes import ErrorCode


class StoreChange:
    """A change of this node's settings, as far as it decides the TLS of listeners."""

    def __init__(self, live: LiveConfig, offload: Offload, named: Collection[str]) -> None:
        """`named`: the settings that the client names; what they name is read again though they are equal."""
        self._live = live
        self._offload = offload
        self._named = named
        self._read: Any = None

    def checked(
        self, find: Callable[[], Resource], make: Callable[[Resource], dict[str, str]]
    ) -> Generator[Until, None, tuple[Resource, dict[str, str]]]:
        """Return the resource and its new settings once what they name has been read.

        `find` returns the resource as it is now, and `make` its new settings; they are called again after
        each reading, because another client may have changed it meanwhile.
        Raises: RequestError, with INVALID_REQUEST for what cannot be served.
        """
        read: Mapping[str, str] | None = None
        while True:
            resource = find()
            settings = make(resource)
            listeners = self._listeners(resource.own, settings)
            if not listeners or settings == read:
                if isinstance(resource, BrokerResource) and not resource.is_here:
                    # That node reads the files once more: here the listeners keep what they have.
                    self._read = None
                return resource, settings
            read = settings
            yield from self._read_for(settings, listeners)

    def expect(self) -> None:
        """Say that what was read belongs to a change that is made now."""
        if self._read is not None and self._live.stores is not None:
            self._live.stores.expect(self._read)

    def _listeners(self, own: Mapping[str, str], settings: Mapping[str, str]) -> set[str]:
        if self._live.stores is None:
            return set()
        changed = {name for name in own.keys() | settings.keys() if own.get(name) != settings.get(name)}
        return {listener for name in changed.union(self._named) if (listener := tls_changed_by(name))}

    def _read_for(
        self, settings: Mapping[str, str], listeners: Collection[str]
    ) -> Generator[Until, None, None]:
        stores = self._live.stores
        assert stores is not None, "there are encrypted listeners"
        config = with_node(self._live.layers, settings)
        try:
            self._read = yield from in_thread(self._offload, partial(stores.read, config, listeners))
        except ConfigProblem as error:
            text = error.for_client if isinstance(error, ConfigError) else str(error)
            raise RequestError(ErrorCode.INVALID_REQUEST, text) from error
