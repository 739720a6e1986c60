"""The place of the object store that the settings name."""

from __future__ import annotations

import os

from broker.config.config import Config
from broker.server.object_store import StorePlace


def place_of(config: Config) -> StorePlace:
    """Return the place that the settings name, with the environment's credentials."""
    assert config.kawal_remote_store is not None
    return StorePlace(
        url=config.kawal_remote_store,
        endpoint=config.kawal_remote_endpoint.rstrip("/"),
        region=config.kawal_remote_region,
        credentials=os.environ,
    )
