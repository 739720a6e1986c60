"""Running Java classes from the jars of kafka-pom.xml (Apache Kafka's broker and command line tools)."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

REPOSITORY = Path(__file__).parent.parent
KAFKA_JARS = REPOSITORY / ".cache" / "kafka"
SPARK_JARS = REPOSITORY / ".jars"

QUICK_START = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xshare:auto")
"""Flags for processes that live for seconds: the first compiler only, the simplest collector."""


def java_command(
    main_class: str, *arguments: str, heap: str = "-Xmx256m", logging: Path | None = None
) -> list[str]:
    """Return the command that runs `main_class` with Kafka's jars; `logging` is a log4j2 configuration."""
    java = shutil.which("java")
    assert java, "no java found: install a Java runtime, 17 or later (make test does it where it may)"
    assert KAFKA_JARS.is_dir(), f"no Kafka jars in {KAFKA_JARS}: run 'make jars'"
    log4j = [f"-Dlog4j2.configurationFile={logging}"] if logging else ["-Dlog4j2.level=ERROR"]
    return [java, heap, *QUICK_START, *log4j, "-cp", f"{KAFKA_JARS}/*", main_class, *arguments]


def run_java(
    main_class: str, *arguments: str, stdin: str = "", timeout_seconds: float = 60, succeed: bool = True
) -> subprocess.CompletedProcess[str]:
    """Run a tool to its end. With `succeed`, an exit code other than 0 fails and shows what it printed."""
    result = subprocess.run(
        java_command(main_class, *arguments),
        input=stdin,
        capture_output=True,
        text=True,
        timeout=timeout_seconds,
        check=False,
    )
    if succeed:
        assert result.returncode == 0, (
            f"{main_class} {arguments}: exit {result.returncode}\n{result.stdout}{result.stderr}"
        )
    return result
