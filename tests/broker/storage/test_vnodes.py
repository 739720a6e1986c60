"""The vnodes that serve, by database and in all."""

from __future__ import annotations

from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from tests.broker.gateway import Gateway


def some_vnodes() -> tuple[Vnodes, list[Vnode]]:
    gateway = Gateway(kawal_vnodes=3)
    vnodes = gateway.broker.vnodes["default"]
    return Vnodes(gateway.broker.meta, {"default": vnodes[:1]}), vnodes


def test_the_catalogues_own_comes_first() -> None:
    vnodes, (first, *_) = some_vnodes()
    assert vnodes.every == [vnodes.meta, first]
    assert dict(vnodes) == {"default": [first]}


def test_databases_come_and_go() -> None:
    vnodes, (first, *others) = some_vnodes()
    vnodes.add("d", others)
    assert vnodes.every == [vnodes.meta, first, *others]
    assert vnodes.remove("d") == others
    assert vnodes.every == [vnodes.meta, first]
    assert "d" not in vnodes
