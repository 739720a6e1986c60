"""Fixtures of this folder."""

from tests.broker.server.testing.world import world

__all__ = ["world"]
