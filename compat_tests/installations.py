"""Installations of Kawal in a fresh environment, beside packages that have the names of Kawal's own.

What Kawal requires is taken from the environment of the tests; that it can be installed from an index is what
`python -m compat_tests.first_hour` shows.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

ROOT = Path(__file__).parent.parent
CLASHING = ("broker", "console", "groups", "pipeline", "protocol", "registry", "views", "wal")


class Environment:
    """A virtual environment with Kawal and its plugin."""

    def __init__(self, folder: Path, distributions: list[Path], *, strangers: tuple[str, ...] = ()) -> None:
        """Make it and install the distributions, wheels or sdists, beside packages with these names."""
        venv.create(folder, symlinks=True, with_pip=False)
        self.bin = folder / "bin"
        (site,) = folder.glob("lib/python3.*/site-packages")
        (site / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n")
        for name in strangers:
            (site / name).mkdir()
            (site / name / "__init__.py").write_text(
                f"raise RuntimeError('the package {name} of a stranger')\n"
            )
        options = ["--no-deps", "--no-index", "--no-build-isolation", "--ignore-installed", "--quiet"]
        pip = [sys.executable, "-m", "pip", "--python", str(self.bin / "python"), "install", *options]
        subprocess.run([*pip, *map(str, distributions)], timeout=240, check=True)

    def run(
        self, program: str, *arguments: str, cwd: Path, text: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run one of its programs to its end in a folder, whose packages come first on PYTHONPATH."""
        ended = subprocess.run(
            [str(self.bin / program), *arguments],
            cwd=cwd,
            env=self.variables(cwd),
            input=text,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert ended.returncode == 0, f"{program} {arguments}: {ended.stdout}{ended.stderr}"
        return ended

    def variables(self, cwd: Path) -> dict[str, str]:
        """Return the variables that its programs get."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "KAWAL"))}
        kept["KAWAL_SPARK_JARS"] = str(ROOT / ".jars")
        return {**kept, "PYTHONPATH": str(cwd)}
