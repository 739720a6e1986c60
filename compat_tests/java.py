"""Running Java classes from the jars of kafka-pom.xml (Apache Kafka's broker and command line tools).

Tools run one after the other in one Java process (ToolHost.java): each has its own standard streams and exit
code, and the process is started for the first of them only.
"""

from __future__ import annotations

import atexit
import shutil
import subprocess
import threading
from base64 import b64decode, b64encode
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
KAFKA_JARS = REPOSITORY / ".cache" / "kafka"
SPARK_JARS = REPOSITORY / ".jars"
TOOL_HOST = Path(__file__).with_name("ToolHost.java")

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""Flags for processes that live for seconds: the first compiler only, the simplest collector."""

SEE_HOOKS = "--add-opens=java.base/java.lang=ALL-UNNAMED"
"""The flag that lets ToolHost.java see what a tool wants done when its process ends."""


def java_command(
    main_class: str, *arguments: str, heap: str = "-Xmx256m", logging: Path | None = None
) -> list[str]:
    """Return the command that runs `main_class` with Kafka's jars; `logging` is a log4j2 configuration."""
    java = shutil.which("java")
    assert java, "no java found: install a Java development kit, 17 or later (make test does it where it may)"
    assert KAFKA_JARS.is_dir(), f"no Kafka jars in {KAFKA_JARS}: run 'make jars'"
    log4j = [f"-Dlog4j2.configurationFile={logging}"] if logging else ["-Dlog4j2.level=ERROR"]
    return [java, heap, *QUICK_START, *log4j, "-cp", f"{KAFKA_JARS}/*", main_class, *arguments]


class ToolHost:
    """The process in which tools run."""

    def __init__(self) -> None:
        """Start it; it is ready when it answers its first request."""
        java, *options = java_command(str(TOOL_HOST))
        self._process = subprocess.Popen(
            [java, SEE_HOOKS, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        atexit.register(self.close)

    @property
    def running(self) -> bool:
        """Whether the process is running."""
        return self._process.poll() is None

    def run(
        self, main_class: str, *arguments: str, stdin: str, timeout_seconds: float
    ) -> tuple[int, str, str]:
        """Run a tool; return its exit code and output. If the tool does not end, its process is ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        fields = (b64encode(field.encode()).decode() for field in (main_class, stdin, *arguments))
        timer = threading.Timer(timeout_seconds, self._process.kill)
        timer.start()
        try:
            self._process.stdin.write(" ".join(fields) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        finally:
            timer.cancel()
        assert answer, f"{main_class} {arguments} did not end within {timeout_seconds} s"
        code, out, err = answer.rstrip("\n").split(" ")
        return int(code), b64decode(out).decode(), b64decode(err).decode()

    def close(self) -> None:
        """End the process."""
        if self.running:
            self._process.kill()
            self._process.wait(60)


_hosts: list[ToolHost] = []


def _host() -> ToolHost:
    if not _hosts or not _hosts[-1].running:
        _hosts.append(ToolHost())
    return _hosts[-1]


def run_java(
    main_class: str, *arguments: str, stdin: str = "", timeout_seconds: float = 120, succeed: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end. With `succeed`, an exit code other than 0 fails and shows what it printed."""
    code, out, err = _host().run(main_class, *arguments, stdin=stdin, timeout_seconds=timeout_seconds)
    if succeed:
        assert code == 0, f"{main_class} {arguments}: exit {code}\n{out}{err}"
    return subprocess.CompletedProcess([main_class, *arguments], code, out, err)
