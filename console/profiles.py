"""Named brokers, kept for the user: `kawal profile` writes them, every client command may use one.

    {"in_use": "production", "profiles": {"production": {"bootstrap": "kafka.example:9092"}}}

The file is `profiles.json` in the folder `kawal` of $XDG_CONFIG_HOME, by default ~/.config; only its owner
can read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from console.errors import CommandError, UsageError

PROFILE_VARIABLE = "KAWAL_PROFILE"


@dataclass(slots=True)
class Profiles:
    """All profiles, and the one in use."""

    in_use: str | None = None
    profiles: dict[str, dict[str, str]] = field(default_factory=dict)

    def named(self, name: str) -> dict[str, str]:
        """Return the settings of a profile.  Raises: UsageError."""
        if name not in self.profiles:
            known = ", ".join(sorted(self.profiles)) or "none yet"
            raise UsageError(f"there is no profile {name!r}; there are: {known}")
        return self.profiles[name]


def path_of(environment: Mapping[str, str]) -> Path:
    """Return the place of the file."""
    home = environment.get("XDG_CONFIG_HOME") or os.path.join(environment.get("HOME", "/"), ".config")
    return Path(home) / "kawal" / "profiles.json"


def load(environment: Mapping[str, str]) -> Profiles:
    """Read the profiles.  Raises: CommandError naming the file and what is wrong with it."""
    path = path_of(environment)
    try:
        text = path.read_text()
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        return Profiles()
    try:
        tree: Any = json.loads(text)
        profiles = {str(name): dict(settings) for name, settings in tree["profiles"].items()}
        return Profiles(tree.get("in_use"), profiles)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CommandError(
            f"{path} is not a file of 'kawal profile': {error!r}; mend or delete it"
        ) from error


def save(profiles: Profiles, environment: Mapping[str, str]) -> None:
    """Write the profiles, whole or not at all.  Raises: CommandError."""
    path = path_of(environment)
    text = json.dumps({"in_use": profiles.in_use, "profiles": profiles.profiles}, indent=2)
    beside = path.with_suffix(f".{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w") as stream:
            stream.write(text + "\n")
        os.replace(beside, path)
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from error


def bootstrap_of(environment: Mapping[str, str]) -> str | None:
    """Return the address of the profile that $KAWAL_PROFILE names, else of the one in use.

    Raises: CommandError, UsageError.
    """
    profiles = load(environment)
    name = environment.get(PROFILE_VARIABLE) or profiles.in_use
    return profiles.named(name).get("bootstrap") if name else None
