"""The audit of changes that the operator makes in files of hashed passwords.

Logins read a changed file themselves (broker/server/password_file.py).  The watch looks at it every
WATCH_SECONDS, so that a change is told also when no client logs in, and once, however many listeners use it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import trio

from broker.config.config import Config
from broker.config.sasl_settings import sasl_settings
from broker.loop.auditor import Auditor
from broker.security.plain_passwords import PasswordFileError
from broker.server.password_file import PasswordFile

WATCH_SECONDS: Final = 10.0


class UserChanges(NamedTuple):
    """The names of users by what has happened to them."""

    added: list[str]
    removed: list[str]
    changed: list[str]
    """Those with another password."""


def changes_of(before: Mapping[str, str], after: Mapping[str, str]) -> UserChanges:
    """Compare the stored passwords by name of a file as it was and as it is."""
    return UserChanges(
        added=sorted(after.keys() - before.keys()),
        removed=sorted(before.keys() - after.keys()),
        changed=sorted(name for name in before.keys() & after.keys() if before[name] != after[name]),
    )


def password_files(config: Config) -> list[str]:
    """Return the files of hashed passwords that listeners use."""
    named = (spec.name for spec in config.specs if spec.protocol.sasl)
    found = (sasl_settings(config, name).plain_file for name in named)
    return sorted({path for path in found if path is not None})


async def watch_passwords(audit: Auditor, path: str) -> None:
    """Tell the audit log of changes of the file, until cancelled."""
    try:
        read = await trio.to_thread.run_sync(PasswordFile, path, abandon_on_cancel=True)
    except PasswordFileError:
        # It was right a moment ago, when the logins read it; they have the users of that moment.
        return
    users = await trio.to_thread.run_sync(read, abandon_on_cancel=True)
    while True:
        await trio.sleep(WATCH_SECONDS)
        now = await trio.to_thread.run_sync(read, abandon_on_cancel=True)
        if now is not users:
            changes = changes_of(users, now)
            users = now
            if any(changes):
                audit.users_changed(path, **changes._asdict())
