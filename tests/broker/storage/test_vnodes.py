"""The vnodes that serve, by database and in all."""

from __future__ import annotations

from dataclasses import replace

from broker.storage.vnode import Vnode
from broker.storage.vnodes import Vnodes
from tests.broker.gateway import Gateway
from wal.jobs import CommitJob
from wal.options import Durability


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


class NoJournal:
    """A journal that takes what comes."""

    def __init__(self) -> None:
        self.forgotten: list[Vnode] = []

    def written(self, vnode: Vnode, job: CommitJob, now_ms: int) -> None:
        """Take a commit."""

    def forget(self, vnode: Vnode) -> None:
        """Note what was forgotten."""
        self.forgotten.append(vnode)

    def look_behind(self) -> None:
        """Never be behind."""


def of_class(vnode: Vnode, durability: Durability) -> None:
    """Change the durability of a vnode's log."""
    vnode.log.change_options(replace(vnode.log.options, durability=durability))


def test_the_catalogue_is_as_safe_as_the_safest_database_as_long_as_that_is_there() -> None:
    vnodes, (_, *others) = some_vnodes()
    of_class(others[0], "remote")
    vnodes.add("d", others)
    classes = [vnodes.meta.log.options.durability]
    vnodes.remove("d")
    classes.append(vnodes.meta.log.options.durability)
    assert classes == ["remote", "disk"]


def test_what_a_log_of_durability_remote_had_at_the_start_is_not_safe_before_the_journal_says_so() -> None:
    vnodes, (first, *others) = some_vnodes()
    of_class(first, "remote")
    vnodes.follow_durability()
    journal = NoJournal()
    vnodes.join(journal)
    vnodes.add("d", others)
    assert [first.is_confirmed, vnodes.meta.is_confirmed] == [False, False]
    assert all(vnode.is_confirmed and vnode.journal is journal for vnode in others)
    vnodes.remove("d")
    assert journal.forgotten == others


def test_the_logs_of_a_new_database_learn_the_time_of_day_in_the_same_millisecond() -> None:
    gateway = Gateway(kawal_vnodes=3)
    broker, now_ms = gateway.broker, gateway.now_ms
    broker.set_clocks(now_ms=now_ms, wall_ms=now_ms)
    known = [broker.vnodes.know_time]
    broker.vnodes.add("d", broker.vnodes["default"][1:])
    known.append(broker.vnodes.know_time)
    broker.set_clocks(now_ms=now_ms, wall_ms=now_ms)
    known.append(broker.vnodes.know_time)
    assert known == [True, False, True]
