"""`make dist`: wheels and sdists of Kawal and of the test plugin, checked before anyone can install them.

Checked are: the same bytes from a second build, one version in both and at the top of the changelog, the
licence and the names in each wheel, metadata that an index accepts.
"""

from __future__ import annotations

import email
import hashlib
import os
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from email.message import Message
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = {"kawal": ROOT, "kawal_pytest": ROOT / "kawal_pytest"}
METADATA_KEYS = (
    "Name",
    "Version",
    "Summary",
    "License-Expression",
    "License-File",
    "Requires-Python",
    "Classifier",
)


def build(folder: Path) -> list[Path]:
    """Build everything into a folder and return the files."""
    for project in PROJECTS.values():
        # The date of all files in the archives: that of the last change, so that anyone gets the same bytes.
        variables = {**os.environ, "SOURCE_DATE_EPOCH": _date_of_last_change()}
        command = [sys.executable, "-m", "hatchling", "build", "--directory", str(folder)]
        subprocess.run(command, cwd=project, env=variables, capture_output=True, timeout=120, check=True)
    return sorted(path for path in folder.iterdir() if path.name.endswith((".whl", ".tar.gz")))


def _date_of_last_change() -> str:
    command = ["git", "log", "-1", "--format=%ct"]
    told = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return told.stdout.strip() or "1580601600"


def sums_of(files: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file by its name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def problems_of(files: list[Path]) -> list[str]:
    """Return a sentence for everything that is wrong with the distributions."""
    versions = {
        name: tomllib.loads((project / "pyproject.toml").read_text())["project"]["version"]
        for name, project in PROJECTS.items()
    }
    version = versions["kawal"]
    found = []
    if len(set(versions.values())) > 1:
        found.append(f"the versions differ: {versions}")
    if f"## {version}" not in (ROOT / "CHANGELOG.md").read_text():
        found.append(f"CHANGELOG.md has no section '## {version}'")
    expected = {f"{name}-{version}{end}" for name in PROJECTS for end in ("-py3-none-any.whl", ".tar.gz")}
    if {path.name for path in files} != expected:
        found.append(f"built were {sorted(path.name for path in files)}, not {sorted(expected)}")
    for path in files:
        if path.suffix == ".whl":
            found += [f"{path.name}: {problem}" for problem in wheel_problems(path)]
    return found


def wheel_problems(path: Path) -> list[str]:
    """Return what is wrong with one wheel."""
    package = path.name.split("-")[0]
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        (place,) = [name for name in names if name.endswith(".dist-info/METADATA")]
        metadata = email.message_from_bytes(wheel.read(place))
        licences = [wheel.read(name) for name in names if name.endswith("/licenses/LICENSE")]
    found = [f"its metadata has no {key}" for key in METADATA_KEYS if key not in metadata]
    found += description_problems(metadata)
    top = {name.split("/")[0] for name in names if ".dist-info/" not in name}
    if top != {package}:
        found.append(f"it has the top-level names {sorted(top)}, not {package} alone")
    if licences != [(ROOT / "LICENSE").read_bytes()]:
        found.append("it does not have the licence")
    return found


def description_problems(metadata: Message) -> list[str]:
    """Return what is wrong with the page that an index would show."""
    text = str(metadata.get_payload())
    found = []
    if metadata["Description-Content-Type"] != "text/markdown" or not text.startswith("# "):
        found.append("its description is not a page of Markdown")
    if re.search(r"^pip install kawal\b", text, re.MULTILINE):
        found.append("its description tells people to install from where it is not yet")
    return found


def main(folder: Path) -> int:
    """Build into a folder, and again elsewhere; return 1 after printing what is wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    for path in folder.glob("kawal*"):
        path.unlink()
    files = build(folder)
    found = problems_of(files)
    with tempfile.TemporaryDirectory() as again:
        if sums_of(build(Path(again))) != sums_of(files):
            found.append("a second build gave other bytes")
    for problem in found:
        print(f"dist: {problem}", file=sys.stderr)
    for name, digest in ({} if found else sums_of(files)).items():
        print(f"{digest}  {name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1] if len(sys.argv) > 1 else "dist")))
