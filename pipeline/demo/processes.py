"""The demo's processes: a gateway and Spark drivers, started by their commands as by a user."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from pipeline.errors import PipelineError, SetupError

READY = "kawal ready "
START_SECONDS = 30
STOP_SECONDS = 10

LOG_TAIL_CHARACTERS = 1_000
"""The most that is shown of a gateway's log when it did not start."""

Event = dict[str, Any]


def kawal_command() -> str:
    """Return the command `kawal` of this installation.  Raises: SetupError."""
    beside = Path(sys.executable).with_name("kawal")
    found = str(beside) if beside.exists() else shutil.which("kawal")
    if found is None:
        raise SetupError("the command kawal is not installed beside this Python: pip install kawal")
    return found


@contextmanager
def gateway(folder: Path) -> Iterator[str]:
    """Run a gateway on a free port with its data in `folder`; yield HOST:PORT.  Raises: PipelineError."""
    log_path = folder / "gateway.log"
    command = [kawal_command(), "serve", "--listen", "127.0.0.1:0", "--data", str(folder / "data")]
    with (
        log_path.open("wb") as log,
        subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process,  # noqa: S603
    ):
        try:
            yield _ready_address(process, log_path)
        finally:
            process.terminate()
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()


def run_job(job_file: Path, bootstrap: str, on_event: Callable[[Event], bool]) -> int | None:
    """Run `kawal pipe run` on a job file and hand each of its events to `on_event`.

    When `on_event` returns True the driver is killed at once (SIGKILL to its process group; its JVM ends
    when it reads the end of its input), and None is returned; else the exit code.
    """
    command = [kawal_command(), "pipe", "run", str(job_file), "--bootstrap", bootstrap, "--log", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as driver:  # noqa: S603
        assert driver.stdout is not None
        try:
            for line in driver.stdout:
                if on_event(msgspec.json.decode(line)):
                    return None
            return driver.wait()
        finally:
            _kill_group(driver.pid)


def _ready_address(process: subprocess.Popen[str], log_path: Path) -> str:
    assert process.stdout is not None
    timer = threading.Timer(START_SECONDS, process.kill)  # readline then sees the end of the output
    timer.start()
    line = process.stdout.readline()
    timer.cancel()
    if not line.startswith(READY):
        words = (log_path.read_text()[-LOG_TAIL_CHARACTERS:] or line).strip()
        raise PipelineError(f"the gateway did not start: {words or 'it ended without a word'}")
    return line.removeprefix(READY).strip()


def _kill_group(process_id: int) -> None:
    try:
        os.killpg(process_id, signal.SIGKILL)
    except ProcessLookupError:
        return  # all of it has ended by itself
