"""The one owner of the server's configuration while it runs: clients change it, everybody reads it here."""

from __future__ import annotations

from collections.abc import Callable

from broker.catalogue.topics import Catalogue
from broker.config.config import Config
from broker.config.config_layers import ConfigLayers, layered

CLUSTER = ""
"""The name under which the catalogue keeps what clients set for every node."""


class LiveConfig:
    """What holds now: the operator's configuration under what the catalogue has of clients' changes.

    A change reaches everything at once: topics forget the settings they derived, then `reaction` is called.
    """

    def __init__(self, static: Config, catalogue: Catalogue) -> None:
        self.reaction: Callable[[Config], None] | None = None
        self._static = static
        self._catalogue = catalogue
        self.layers = self._layered()
        catalogue.broker_configs_changed = self._refresh

    @property
    def current(self) -> Config:
        """What holds for the keys of this server."""
        return self.layers.current

    def _layered(self) -> ConfigLayers:
        settings = self._catalogue.broker_configs
        return layered(
            self._static, cluster=settings.get(CLUSTER), node=settings.get(str(self._static.node_id))
        )

    def _refresh(self) -> None:
        self.layers = self._layered()
        for topic in self._catalogue.by_name.values():
            topic.settings = None
        if self.reaction is not None:
            self.reaction(self.current)
