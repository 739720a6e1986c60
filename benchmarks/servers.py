"""The servers side by side: Apache Kafka in three configurations, and the gateway."""

from __future__ import annotations

import re
import shutil
import subprocess
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from compat_tests.broker import HOST, Broker, free_port, wait_until_it_answers
from compat_tests.java import KAFKA_JARS
from compat_tests.kafka_broker import LOGGING, KafkaBroker
from compat_tests.kawal_broker import KAWAL
from compat_tests.process import ServerProcess

ServerKind = Literal["kafka", "kafka-fsync", "kafka-lean", "kawal"]
SERVER_KINDS: tuple[ServerKind, ...] = get_args(ServerKind)

TITLES: dict[ServerKind, str] = {
    "kafka": "Kafka",
    "kafka-fsync": "Kafka fsync",
    "kafka-lean": "Kafka lean",
    "kawal": "Kawal",
}

KAFKA_FLAGS = (
    *("-server", "-Xms1G", "-Xmx1G", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
)
"""As Kafka's own start script gives them (kafka-server-start.sh, kafka-run-class.sh)."""

LEAN_FLAGS = ("-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
"""For the quickest start: with an archive of the loaded classes, the best we could get out of Kafka."""

FLUSH_EVERY_MESSAGE = {"log.flush.interval.messages": "1"}
"""Kafka's `flush.messages=1` for every topic: fsync before the acknowledgement, as the gateway does."""


class Server(Broker):
    """A broker whose start can be taken apart, to be timed."""

    server_kind: ServerKind

    @property
    def pid(self) -> int:
        """The process id of the running server."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether a process was launched and has not ended."""
        return self._process is not None and self._process.exit_code is None

    @property
    def data_directory(self) -> Path:
        """Where the server keeps its data."""
        return self.directory / "data"

    @abstractmethod
    def prepare(self) -> None:
        """Do what comes before the first start and is not part of it: choose a port, format the directory."""

    @abstractmethod
    def launch(self) -> None:
        """Execute the server and return at once."""

    def start(self) -> None:
        """Prepare the first time, launch, and wait for the first answer."""
        if not self.port:
            self.prepare()
        self.launch()
        wait_until_it_answers(self, within_seconds=120)


class KafkaServer(KafkaBroker, Server):
    """Apache Kafka: one KRaft node with 1 GB of heap; no fsync unless `settings` ask for it."""

    server_kind: ServerKind = "kafka"
    flags: tuple[str, ...] = KAFKA_FLAGS

    def prepare(self) -> None:
        """Write the properties and format the data directory."""
        self.directory.mkdir(parents=True)
        self.port = free_port()
        (self.directory / "server.properties").write_text(self._properties())
        (self.directory / "log4j2.properties").write_text(LOGGING)
        self._format()

    def launch(self) -> None:
        """Execute the Java machine."""
        self._process = ServerProcess(
            self._command(self.flags), log_path=self.directory / "broker.log", environment={}
        )

    def start(self) -> None:
        """Start as every other server here."""
        Server.start(self)

    def _command(self, flags: tuple[str, ...]) -> list[str]:
        logging = f"-Dlog4j2.configurationFile={self.directory / 'log4j2.properties'}"
        properties = str(self.directory / "server.properties")
        return [java(), *flags, logging, "-cp", f"{KAFKA_JARS}/*", "kafka.Kafka", properties]


class SyncedKafkaServer(KafkaServer):
    """Apache Kafka with an fsync before every acknowledgement."""

    server_kind: ServerKind = "kafka-fsync"

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        """Add the flush to the settings."""
        super().__init__(directory, {**settings, **FLUSH_EVERY_MESSAGE})


class LeanKafkaServer(SyncedKafkaServer):
    """Apache Kafka made to start quickly: first compiler only, small heap, classes from an archive."""

    server_kind = "kafka-lean"

    def prepare(self) -> None:
        """Run once to write the archive of the classes that a start loads."""
        super().prepare()
        archive = self.directory / "classes.jsa"
        self.flags = (*LEAN_FLAGS, f"-XX:ArchiveClassesAtExit={archive}")
        self.launch()
        wait_until_it_answers(self, within_seconds=120)
        self.stop()
        self.flags = (*LEAN_FLAGS, f"-XX:SharedArchiveFile={archive}")


class KawalServer(Server):
    """`kawal serve` with its defaults: durable before the acknowledgement."""

    kind = "kawal"
    server_kind = "kawal"

    def prepare(self) -> None:
        """Choose a port; the gateway makes its data directory itself."""
        self.directory.mkdir(parents=True)
        self.port = free_port()

    def launch(self) -> None:
        """Execute the installed command."""
        command = [KAWAL, "serve", "--listen", self.bootstrap, "--data", str(self.data_directory)]
        for key, value in self.settings.items():
            command += ["--set", f"{key}={value}"]
        self._process = ServerProcess(command, log_path=self.directory / "broker.log", environment={})


CLASSES: dict[ServerKind, type[Server]] = {
    "kafka": KafkaServer,
    "kafka-fsync": SyncedKafkaServer,
    "kafka-lean": LeanKafkaServer,
    "kawal": KawalServer,
}


def new_server(kind: ServerKind, directory: Path) -> Server:
    """Return a server, not started, that will keep everything below `directory`, which must not exist."""
    return CLASSES[kind](directory, {})


def java() -> str:
    """Return the Java command."""
    path = shutil.which("java")
    assert path, "no java found: install a Java runtime, 17 or later, or leave Kafka out with --servers kawal"
    return path


def kafka_version() -> str:
    """Return the version of Kafka's jars, read from a file name."""
    names = [
        re.fullmatch(r"kafka-server-([\d.]+)\.jar", jar.name) for jar in KAFKA_JARS.glob("kafka-server-*.jar")
    ]
    versions = [name[1] for name in names if name]
    assert versions, (
        f"no Kafka jars in {KAFKA_JARS}: run 'make jars', or leave Kafka out with --servers kawal"
    )
    return versions[0]


def java_version() -> str:
    """Return the first line of `java -version`."""
    result = subprocess.run([java(), "-version"], capture_output=True, text=True, timeout=30, check=True)
    return result.stderr.splitlines()[0]


__all__ = [
    "HOST",
    "SERVER_KINDS",
    "TITLES",
    "Server",
    "ServerKind",
    "java_version",
    "kafka_version",
    "new_server",
]
