"""The interface to the metadata: what exists, and how it is configured."""

from __future__ import annotations

from typing import Protocol

from broker.catalogue.live_config import LiveConfig
from broker.catalogue.metadata_log import MetadataLog
from broker.catalogue.nodes import Nodes
from broker.catalogue.topic_directory import TopicDirectory
from broker.catalogue.topics import Catalogue
from broker.config.config import Config


class Metadata(Protocol):
    """The broker's knowledge of its topics, databases and settings."""

    @property
    def catalogue(self) -> Catalogue:
        """The databases, topics, groups' settings and users that exist."""

    @property
    def metadata_log(self) -> MetadataLog:
        """The log in which the catalogue's changes are recorded."""

    @property
    def nodes(self) -> Nodes:
        """The nodes of the cluster, and which of them leads what."""

    @property
    def topics(self) -> TopicDirectory:
        """The topics with their partitions."""

    @property
    def config(self) -> Config:
        """The server's configuration in effect."""

    @property
    def live_config(self) -> LiveConfig:
        """The layers of that configuration, with the source of each value."""
