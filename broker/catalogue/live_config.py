"""The owner of the running server's configuration: clients change it, and all code reads it here."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Protocol

from broker.catalogue.topics import Catalogue
from broker.config.config import Config
from broker.config.config_layers import ConfigLayers, layered

CLUSTER = ""
"""The name under which the catalogue keeps the clients' settings for every node."""


class ListenerStores(Protocol):
    """The keys and certificates that the encrypted listeners of a server have read."""

    def read(self, config: Config, listeners: Collection[str]) -> Any:
        """Read what these listeners need by a configuration; it takes as long as the disk does.

        Raises: ConfigProblem, if new connections could not be served with it.
        """

    def expect(self, read: Any) -> None:
        """Keep what was read until the configuration is in effect."""

    def configured(self, config: Config) -> None:
        """Let new connections have what was read for this configuration, which is in effect now."""


class LiveConfig:
    """The configuration in effect: the operator's, overlaid by the clients' changes in the catalogue.

    A change takes effect everywhere at once: topics forget the settings derived from it, then `changed` gets
    the new configuration.  The operator's part is replaced when the configuration file is read again.
    """

    def __init__(
        self, static: Config, catalogue: Catalogue, *, changed: Callable[[Config], None] | None = None
    ) -> None:
        self._changed = changed
        self._static = static
        self._catalogue = catalogue
        # What encrypted listeners read, on a server that has such listeners.
        self.stores: ListenerStores | None = None
        self.layers = self._layered(static)
        catalogue.listen_to_broker_configs(self._refresh)

    @property
    def current(self) -> Config:
        """The values in effect for the keys of this server."""
        return self.layers.current

    @property
    def static(self) -> Config:
        """The operator's part: the values without the clients' settings."""
        return self._static

    def change_static(self, static: Config) -> None:
        """Replace the operator's part; the clients' settings still overlay it."""
        self._static = static
        self._refresh()

    def with_static(self, static: Config) -> Config:
        """Return what would be in effect if this were the operator's part."""
        return self._layered(static).current

    def _layered(self, static: Config) -> ConfigLayers:
        settings = self._catalogue.broker_configs
        return layered(static, cluster=settings.get(CLUSTER), node=settings.get(str(static.node_id)))

    def _refresh(self) -> None:
        self.layers = self._layered(self._static)
        if self.stores is not None:
            self.stores.configured(self.current)
        for topic in self._catalogue.by_name.values():
            topic.settings = None
        if self._changed is not None:
            self._changed(self.current)
