"""The audit of changes in files of hashed passwords: the names of users, and no more."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import trio
import trio.testing

from broker.config.config import config_of
from broker.security.plain_passwords import hashed_password
from broker.server.password_watch import (
    WATCH_SECONDS,
    UserChanges,
    changes_of,
    password_files,
    watch_passwords,
)

OLD, NEW = hashed_password("old", bytes(16)), hashed_password("new", bytes(16))


class Told:
    """An audit log that remembers what it is told."""

    def __init__(self) -> None:
        self.changes: list[tuple[str, list[str], list[str], list[str]]] = []

    def users_changed(self, path: str, *, added: list[str], removed: list[str], changed: list[str]) -> None:
        self.changes.append((path, added, removed, changed))


def test_users_are_told_apart_by_what_has_happened_to_them() -> None:
    found = changes_of({"a": OLD, "b": OLD, "c": OLD}, {"b": NEW, "c": OLD, "d": NEW, "e": NEW})
    assert found == UserChanges(added=["d", "e"], removed=["a"], changed=["b"])
    assert not any(changes_of({"a": OLD}, {"a": OLD}))


def test_files_are_those_of_the_listeners_each_once(tmp_path: Path) -> None:
    for name in ("x", "y"):
        (tmp_path / name).write_text("")
    config = config_of(
        {
            "listeners": "A://127.0.0.1:1,B://127.0.0.1:2,C://127.0.0.1:3,PLAINTEXT://127.0.0.1:4",
            "listener.security.protocol.map": (
                "A:SASL_PLAINTEXT,B:SASL_PLAINTEXT,C:SASL_PLAINTEXT,PLAINTEXT:PLAINTEXT"
            ),
            "sasl.enabled.mechanisms": "PLAIN",
            "kawal.sasl.plain.users": f"{tmp_path}/x",
            "listener.name.c.kawal.sasl.plain.users": f"{tmp_path}/y",
        }
    )
    assert password_files(config) == [f"{tmp_path}/x", f"{tmp_path}/y"]


def test_each_good_change_is_told_once_and_a_wrong_file_is_none(tmp_path: Path) -> None:
    path, told = tmp_path / "users", Told()
    path.write_text(f"a:{OLD}\n")

    async def watch() -> None:
        audit: Any = told
        async with trio.open_nursery() as nursery:
            nursery.start_soon(watch_passwords, audit, str(path))
            await trio.sleep(WATCH_SECONDS + 1)
            path.write_text("nonsense")
            await trio.sleep(2 * WATCH_SECONDS)
            path.write_text(f"a:{NEW}\nbob:{NEW}\n")
            await trio.sleep(3 * WATCH_SECONDS)
            path.write_text("# empty\n")
            await trio.sleep(2 * WATCH_SECONDS)
            nursery.cancel_scope.cancel()

    trio.run(watch, clock=trio.testing.MockClock(autojump_threshold=0.3))
    assert told.changes == [(str(path), ["bob"], [], ["a"]), (str(path), [], ["a", "bob"], [])]
