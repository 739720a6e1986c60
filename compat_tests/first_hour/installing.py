"""The ways of docs/install.md that need programs of their own: pipx, uv, a container, systemd.

pipx and uv come from the index, into an environment for this; what they install is built here, and what it
requires comes from the index as well.  Of the container, without a daemon, the commands of the build run in a
folder that has what the build would see; its second stage is not.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from compat_tests.distributions import ROOT, build

SECONDS_MAX: Final = 600
TOOLS: Final = ("pipx", "uv")


def lines_of(heading: str) -> list[str]:
    """Return the lines of the first block under a heading of install.md.  Raises: ValueError."""
    page = (ROOT / "docs/install.md").read_text()
    match = re.search(rf"^## {re.escape(heading)}\n.*?^```\w*\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    if match is None:
        raise ValueError(f"docs/install.md has no block under {heading!r}")
    return match[1].splitlines()


def shell(line: str, cwd: Path, variables: Mapping[str, str]) -> str:
    """Run a line of a document and return what it printed.  Raises: RuntimeError."""
    ended = subprocess.run(
        ["bash", "-euc", line],
        cwd=cwd,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{line!r} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout


def with_pipx_and_uv(folder: Path) -> None:
    """Run the lines for pipx and uv, and the command that each has put on PATH.  Raises: RuntimeError."""
    (folder / "dist").mkdir(parents=True)
    build(folder / "dist")
    tools = folder / "tools"
    shell(
        f"{sys.executable} -m venv {tools} && {tools}/bin/pip install --quiet {' '.join(TOOLS)}", folder, {}
    )
    for line in lines_of("pipx and uv"):
        home = folder / line.split()[0]
        home.mkdir()
        path = f"{home / '.local/bin'}:{tools / 'bin'}:{os.environ['PATH']}"
        variables = {
            "HOME": str(home),
            "PATH": path,
            "PIPX_DEFAULT_PYTHON": sys.executable,
            "UV_NO_CONFIG": "1",
        }
        shell(line, folder, variables)
        told = shell("command -v kawal; kawal version", folder, variables)
        if not told.startswith(f"{home}/.local/bin/kawal\n"):
            raise RuntimeError(f"{line!r} has not put kawal on PATH: {told!r}")


def container_build(folder: Path) -> None:
    """Run the commands of the build in a folder with what it would see.  Raises: RuntimeError."""
    source, target = folder / "source", folder / "opt"
    folder.mkdir()
    copy_context(source)
    for line in build_commands():
        shell(
            line.replace("/opt/kawal", str(target)),
            source,
            {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        )
    told = shell(f"{target}/bin/kawal version", folder, {"PYTHONDONTWRITEBYTECODE": "1"})
    if not told.startswith("kawal "):
        raise RuntimeError(f"the container's command says {told!r}")


def build_commands() -> list[str]:
    """Return the RUN commands of the Dockerfile's first stage."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    stage = text.replace("\\\n", " ").split("\nFROM ")[1]
    return [line.removeprefix("RUN ").strip() for line in stage.splitlines() if line.startswith("RUN ")]


def copy_context(target: Path) -> None:
    """Copy what .dockerignore lets through."""
    rules = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]
    let_in = [rule[1:] for rule in rules if rule.startswith("!")]
    left_out = [rule.rpartition("/")[2] for rule in rules if rule[0] != "!" and rule != "*"]
    target.mkdir()
    for name in let_in:
        path = ROOT / name
        if path.is_dir():
            ignore = lambda _, names: [n for n in names if any(fnmatch.fnmatch(n, rule) for rule in left_out)]  # noqa: E731
            shutil.copytree(path, target / name, ignore=ignore)
        else:
            shutil.copy(path, target / name)


def systemd_unit(folder: Path) -> None:
    """Let systemd judge the unit, if it is here, with a command that exists.  Raises: RuntimeError."""
    if shutil.which("systemd-analyze") is None:
        return
    unit = (ROOT / "packaging/kawal.service").read_text().replace("/opt/kawal/bin/kawal", "/bin/true")
    (folder / "kawal.service").write_text(unit)
    shell("systemd-analyze verify ./kawal.service", folder, {})
