"""The audit log of a running server: file, thread and listeners; the end of the server writes the rest."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from broker.config.endpoints import Endpoint
from broker.security.audit_trail import Batch
from broker.server.audit_file import AuditFile
from broker.server.audit_setup import line_maker, open_audit_file, start_audit
from broker.server.listeners import Listener, StartError
from broker.server.place import Place
from tests.broker.cluster import Cluster
from tests.broker.gateway import Gateway


class Threads:
    """Threads whose work is done when the test says so."""

    def __init__(self) -> None:
        self.waiting: list[tuple[Callable[[], object], Callable[[Exception | None], None]]] = []

    def submit_audit(self, work: Callable[[], object], done: Callable[[Exception | None], None]) -> None:
        self.waiting.append((work, done))

    def run(self) -> None:
        while self.waiting:
            work, done = self.waiting.pop(0)
            try:
                work()
            except Exception as error:  # noqa: BLE001
                done(error)
            else:
                done(None)


def started(path: Path, *added: str, **settings: Any) -> tuple[Gateway, Threads, Callable[[], None]]:
    gateway = Gateway(kawal_audit_file=str(path), **settings)
    threads = Threads()
    with socket.socket() as sock:
        listener = Listener(sock, Endpoint("127.0.0.1", 9), None, name="INSIDE")
        file = open_audit_file(gateway.config)
        finish = start_audit(gateway.broker, gateway.config, [listener], threads, file=file, added=added)  # type: ignore[arg-type]
    return gateway, threads, finish


def events(path: Path) -> list[str]:
    return [json.loads(line)["event"] for line in path.read_text().splitlines()]


def test_the_start_is_the_first_event_and_the_stop_the_last(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    _, threads, finish = started(path)
    threads.run()
    assert events(path) == ["server.started"]
    assert json.loads(path.read_text())["listeners"] == ["INSIDE://127.0.0.1:9"]
    finish()
    assert events(path) == ["server.started", "server.stopped"]


def test_a_file_that_cannot_be_opened_ends_the_start(tmp_path: Path) -> None:
    with pytest.raises(StartError, match=r"kawal.audit.file\) cannot be written: No such file .*; name"):
        started(tmp_path / "none" / "audit.log")


def test_the_last_events_are_written_at_the_end_even_if_no_thread_has_done_it(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    _, _, finish = started(path)
    finish()
    assert events(path) == ["server.started", "server.stopped"]


def test_a_write_that_fails_is_told_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    file = AuditFile(str(path), max_bytes=1, count=1, sync=False)
    file.write([b"full\n"])
    path.with_name("audit.log.1").mkdir()
    threads = Threads()
    told: list[str | None] = []
    line_maker(file, threads.submit_audit)(Batch([{"time_ms": 0, "event": "e"}]), told.append)
    threads.run()
    assert told[0] is not None
    assert told[0].startswith(f"{path}: ")


def test_a_trail_without_a_file_makes_lines_for_the_topic(tmp_path: Path) -> None:
    gateway = Gateway(kawal_audit_topic=True)
    threads = Threads()
    finish = start_audit(gateway.broker, gateway.config, [], threads, file=None)  # type: ignore[arg-type]
    threads.run()
    gateway.settle()
    assert "__kawal_audit" in gateway.broker.catalogue.by_name
    finish()


def test_the_settings_that_the_operator_changes_are_told(tmp_path: Path) -> None:
    gateway, threads, _ = started(tmp_path / "audit.log")
    from broker.config.config_sources import load
    from broker.server.reload import Reloader

    file = tmp_path / "kawal.toml"
    file.write_text(
        f'"log.dirs" = "/data"\n"kawal.audit.file" = "{tmp_path}/audit.log"\n"num.partitions" = 9\n'
    )
    Reloader(gateway.broker, None).apply(load(file=str(file), environment={}))
    threads.run()
    last = json.loads((tmp_path / "audit.log").read_text().splitlines()[-1])
    assert (last["event"], last["after"]) == ("configs.reloaded", {"num.partitions": "9"})


def test_a_user_whom_the_operator_has_added_at_the_start_is_told_without_a_password(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    _, threads, _ = started(path, "admin")
    threads.run()
    last = json.loads(path.read_text().splitlines()[-1])
    del last["time"]
    assert last == {
        "event": "user.added",
        "outcome": "ok",
        "user": "(the operator)",
        "resource": {"type": "user", "name": "admin"},
        "after": {"mechanisms": [], "new": []},
    }


def test_users_whom_the_operator_has_changed_in_a_file_are_told_by_name(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    gateway, threads, _ = started(path)
    audit = gateway.broker.stats.audit
    assert audit is not None
    audit.users_changed("/etc/users", added=["bob"], removed=[], changed=["a\nb"])
    threads.run()
    last = json.loads(path.read_text().splitlines()[-1])
    del last["time"]
    assert last == {
        "event": "users.reloaded",
        "outcome": "ok",
        "user": "(the operator)",
        "resource": {"type": "file", "name": "/etc/users"},
        "added": ["bob"],
        "changed": ["a\nb"],
    }


def test_each_worker_writes_its_own_file_and_its_events_name_it(tmp_path: Path) -> None:
    path, threads = tmp_path / "audit.log", Threads()
    cluster = Cluster(2, kawal_audit_file=str(path))
    nothing: Any = None
    for number, node in enumerate(cluster):
        place = Place(number, 2, [], nothing, nothing, 9, None, lambda: None, False)
        file = open_audit_file(node.config, place)
        start_audit(node.broker, node.config, [], threads, file=file)  # type: ignore[arg-type]
    threads.run()
    lines = [path.read_text(), path.with_name("audit.log.worker-1").read_text()]
    assert [(event["event"], event["node"]) for event in map(json.loads, lines)] == [
        ("server.started", 0),
        ("server.started", 1),
    ]
