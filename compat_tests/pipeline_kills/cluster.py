"""A standalone Spark cluster on loopback, one master and two workers, and the processes of running jobs."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from compat_tests.broker import HOST, free_port
from compat_tests.process import ServerProcess
from compat_tests.waiting import eventually

WORKERS = 2
EXECUTOR = "CoarseGrainedExecutorBackend"
PYTHON_WORKER = "pyspark.daemon"
BUSY_SECONDS = 0.1
"""A worker that has used so much of a processor imports its libraries for its task, or computes: 30,000 rows
take about half a second."""


@contextmanager
def cluster(folder: Path) -> Iterator[tuple[str, list[int]]]:
    """Run a cluster with its work folders below `folder`; yield its address and the workers' process ids."""
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    environment = {
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": HOST,
        "SPARK_NO_DAEMONIZE": "1",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1",
        "PYSPARK_PYTHON": sys.executable,
    }
    port = free_port()
    address = f"spark://{HOST}:{port}"
    main = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.master.Master"]
    master_log = folder / "master.log"
    started = [
        ServerProcess(
            [*main, "--host", HOST, "--port", str(port), "--webui-port", str(free_port())],
            log_path=master_log,
            environment=environment,
        )
    ]
    try:
        eventually(
            lambda: "I have been elected leader" in master_log.read_text(),
            waiting_for="the master",
        )
        worker = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.worker.Worker"]
        for number in range(WORKERS):
            ports = ["--host", HOST, "--port", str(free_port()), "--webui-port", str(free_port())]
            size = ["--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}")]
            started.append(
                ServerProcess(
                    [*worker, *ports, *size, address],
                    log_path=folder / f"worker-{number}.log",
                    environment=environment,
                )
            )
        eventually(
            lambda: master_log.read_text().count("Registering worker") == WORKERS,
            waiting_for="both workers",
        )
        yield address, [process.pid for process in started[1:]]
    finally:
        for process in reversed(started):
            process.terminate(within_seconds=60)


def move_to_cluster(edit: Callable[[str, str], None], master: str) -> None:
    """Let a job run on the cluster at `master`; `edit` replaces some text of its file."""
    memory = 'options = {"spark.executor.memory" = "512m"}'
    edit("[spark]\n", f'[spark]\nmaster = "{master}"\n{memory}\n')


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes that `pid` has started, and theirs."""
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in tasks.read_text().split()]
        except OSError:  # it has ended meanwhile
            continue
        for child in children:
            yield child
            yield from descendants(child)


def named(pids: list[int], word: str) -> list[int]:
    """Return the descendants of `pids` whose command line has `word`, in the order they were started."""
    found = []
    for pid in sorted({child for parent in pids for child in descendants(parent)}):
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
        except OSError:  # it has ended meanwhile
            continue
        if word in command:
            found.append(pid)
    return found


def busy_python_workers(pids: list[int]) -> list[int]:
    """Return the Python processes below `pids` that compute rows: children of Spark's daemon of them.

    One that has only just been forked has no task yet; Spark may replace it without a word.
    """
    daemons = named(pids, PYTHON_WORKER)
    workers = [pid for pid in daemons if any(pid in descendants(daemon) for daemon in daemons)]
    return [pid for pid in workers if _processor_seconds(pid) >= BUSY_SECONDS]


def _processor_seconds(pid: int) -> float:
    """Return the processor time that a process has used, 0 when it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def kill(pid: int) -> None:
    """End one process with SIGKILL, if it has not ended by itself."""
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return  # it has ended meanwhile
