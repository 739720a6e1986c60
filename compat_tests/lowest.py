"""Try Kawal with the lowest versions of what it requires: `python -m compat_tests.lowest` (`make lowest`).

A fresh environment gets the wheel and, from the index, the lowest version that each requirement allows.
There the command serves, and its parts are used that need each of the libraries.  Newest versions are what
the tests run with; so both ends of every range are tried.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from compat_tests.distributions import ROOT, build
from compat_tests.first_hour.__main__ import run, serving

COLUMNS: Final = "ts timestamp, city string, degrees double"
QUERY: Final = "SELECT city, degrees FROM weather WHERE degrees > 20"
RECORDS: Final = '{"ts":1,"city":"Rome","degrees":31.5}\n{"ts":2,"city":"Oslo","degrees":3.5}\n'
CODECS: Final = ("gzip", "snappy", "lz4", "zstd")


def lowest(requirements: Sequence[str]) -> list[str]:
    """Return `name==version` of the lowest version that each requirement allows.  Raises: ValueError."""
    found = []
    for requirement in requirements:
        match = re.match(r"([A-Za-z0-9_-]+)>=([0-9.]+)", requirement)
        if match is None:
            raise ValueError(f"{requirement!r} has no lowest version")
        found.append(f"{match[1]}=={match[2]}")
    return found


def requirements() -> list[str]:
    """Return what the wheel requires."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return list(project["dependencies"])


def main() -> int:
    """Install, use, and say what was used; return 1 when something does not work."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        try:
            kawal = installed(folder, lowest(requirements()))
            used(kawal, folder)
        except (OSError, RuntimeError, subprocess.SubprocessError, ValueError, AssertionError) as error:
            print(f"lowest: {error}", file=sys.stderr)
            return 1
        pip = [
            kawal.with_name("python"),
            "-m",
            "pip",
            "list",
            "--format=freeze",
            "--disable-pip-version-check",
        ]
        print(run(pip, folder), end="")
    return 0


def installed(folder: Path, pins: Sequence[str]) -> Path:
    """Return the command in a fresh environment with the wheel and these versions."""
    (wheel,) = [path for path in build(folder) if path.name.startswith("kawal-") and path.suffix == ".whl"]
    run([sys.executable, "-m", "venv", folder / "venv"])
    pip = [folder / "venv/bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    run([*pip, wheel, *pins])
    return folder / "venv/bin/kawal"


def used(kawal: Path, folder: Path) -> None:
    """Serve, and use what needs the libraries.  Raises: RuntimeError, AssertionError."""
    settings = ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--data", folder / "data"]
    settings += ["--set", "kawal.console.listeners=none"]
    log = folder / "log"
    with log.open("w") as errors, serving([kawal, "serve", *settings], folder, errors=errors) as bootstrap:
        at = ["--bootstrap", bootstrap]
        check = ["--config", f"kawal.columns={COLUMNS}", "--config", "kawal.schema.validation=columns"]
        run([kawal, "topics", "create", "weather", *check, *at])
        run([kawal, "sql", f"CREATE TOPIC warm AS {QUERY}", *at])
        for codec in CODECS:
            run([kawal, "produce", "weather", "--codec", codec, *at], text=RECORDS)
        assert run([kawal, "consume", "warm", *at]) == '{"city":"Rome","degrees":31.5}\n' * len(CODECS)
        run([kawal, "consume", "weather", "--group", "readers", *at])
        assert json.loads(run([kawal, "groups", "list", "--json", *at])), "no group is listed"
        metrics = re.search(r"http://127\.0\.0\.1:\d+", log.read_text())
        assert metrics is not None, log.read_text()
        with urllib.request.urlopen(f"{metrics[0]}/metrics", timeout=60) as answer:
            assert b"kawal_" in answer.read()
    run([kawal, "wal", "verify", folder / "data"])


if __name__ == "__main__":
    sys.exit(main())
