"""Do the whole first hour of a new user, and print how long each step takes.

    python -m compat_tests.first_hour [--clone URL] [--quick]

A fresh clone serves and takes its first record; the wheel is installed into a fresh environment and serves;
then every documented block and every wrong command line is tried by the tests of their names.
Times are reported, and asserted nowhere: on an idle machine at most 60 s from the clone to the first record,
15 s from the wheel to serving, 0.4 s for `kawal topics list`.  Exit code 1: a step failed.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from compat_tests.distributions import build
from compat_tests.first_hour.installing import container_build, systemd_unit, with_pipx_and_uv
from compat_tests.first_hour.processor import CASES, processor_seconds, records

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTED = ("test_readme.py", "test_views_docs.py", "test_installed.py", "test_wrong_lines.py")
DEADLINE_SECONDS = 600


def main() -> int:
    """Run the steps and print a line for each."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--clone", default=str(ROOT), help="what to clone (default: this checkout)")
    parser.add_argument("--quick", action="store_true", help="leave out the documents and the wrong lines")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        steps: list[tuple[str, Callable[[], object]]] = [
            ("fresh clone to the first record", lambda: first_record(options.clone, folder / "clone")),
            ("wheel to serving", lambda: from_wheel(folder)),
            ("kawal topics list", lambda: topics_list(folder)),
            ("pipx and uv, as install.md says", lambda: with_pipx_and_uv(folder / "ways")),
            ("the container's build, without a container", lambda: container_build(folder / "container")),
            ("systemd's judgement of the unit", lambda: systemd_unit(folder)),
            ("processor time of very many records", lambda: many_records(folder)),
        ]
        if not options.quick:
            steps.append(("documented blocks, wrong command lines", documented))
        return max([measured(text, step) for text, step in steps])


def measured(text: str, step: Callable[[], object]) -> int:
    """Run a step and print its time; return 1 when it failed."""
    began = time.monotonic()
    try:
        seconds = step()
    except (OSError, subprocess.SubprocessError, RuntimeError) as error:
        print(f"{text}: FAILED after {time.monotonic() - began:.1f} s: {error}", flush=True)
        return 1
    print(f"{text}: {seconds if isinstance(seconds, float) else time.monotonic() - began:.1f} s", flush=True)
    return 0


def run(command: Sequence[object], cwd: Path = ROOT, text: str = "") -> str:
    """Run a command to its end and return what it printed.  Raises: CalledProcessError with its errors."""
    ended = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        timeout=DEADLINE_SECONDS,
        check=False,
    )
    if ended.returncode:
        raise RuntimeError(f"{command[0]} ended with {ended.returncode}: {ended.stdout}{ended.stderr}")
    return ended.stdout


@contextmanager
def serving(command: Sequence[object], cwd: Path, *, errors: IO[str] | None = None) -> Iterator[str]:
    """Run a command that serves, and yield the address that it says it is ready at."""
    with subprocess.Popen(
        [str(word) for word in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        start_new_session=True,
    ) as server:
        try:
            assert server.stdout is not None
            for line in server.stdout:
                if line.startswith("kawal ready "):
                    yield line.split()[2]
                    return
            raise RuntimeError("the server ended before it was ready")
        finally:
            os.killpg(server.pid, signal.SIGTERM)


def first_record(source: str, clone: Path) -> None:
    """Clone, `make run`, send a record and read it."""
    run(["git", "clone", "--quiet", source, clone], clone.parent)
    kawal = clone / ".venv/bin/kawal"
    with serving(["make", "run", "LISTEN=127.0.0.1:0", "ARGS=--http none"], clone) as bootstrap:
        run([kawal, "produce", "hello", "--bootstrap", bootstrap], text="world\n")
        assert run([kawal, "consume", "hello", "--bootstrap", bootstrap]) == "world\n"


def from_wheel(folder: Path) -> float:
    """Build the wheel; return the time from a fresh environment for it to a server that is ready."""
    (wheel,) = [path for path in build(folder) if path.name.startswith("kawal-") and path.suffix == ".whl"]
    began = time.monotonic()
    run([sys.executable, "-m", "venv", folder / "venv"])
    run([folder / "venv/bin/pip", "install", "--quiet", wheel])
    with serving(serve_from(folder), folder):
        return time.monotonic() - began


def serve_from(folder: Path) -> list[object]:
    """Return the command that serves from the installed wheel."""
    listen = ["--listen", "127.0.0.1:0", "--http", "none", "--set", "kawal.console.listeners=none"]
    return [folder / "venv/bin/kawal", "serve", *listen, "--data", folder / "data"]


def topics_list(folder: Path) -> float:
    """Return the time of the quickest of five `kawal topics list`."""
    times = []
    with serving(serve_from(folder), folder) as bootstrap:
        for _ in range(5):
            began = time.monotonic()
            run([folder / "venv/bin/kawal", "topics", "list", "--bootstrap", bootstrap])
            times.append(time.monotonic() - began)
    return min(times)


def many_records(folder: Path) -> None:
    """Print the processor time of our commands for many records, and of kcat's."""
    records(folder / "records")
    with serving(serve_from(folder), folder) as bootstrap:
        for case in CASES:
            ours = processor_seconds(
                [folder / "venv/bin/kawal", *case.ours, "--bootstrap", bootstrap], folder
            )
            theirs = processor_seconds(["kcat", "-b", bootstrap, *case.kcat], folder)
            print(f"  kawal {' '.join(case.ours)}: {ours:.2f} s, kcat {theirs:.2f} s", flush=True)


def documented() -> None:
    """Run the tests that do what the documents say, and the wrong command lines."""
    run([sys.executable, "-m", "pytest", "-q", *(f"compat_tests/{name}" for name in DOCUMENTED)])


if __name__ == "__main__":
    sys.exit(main())
