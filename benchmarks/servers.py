"""The servers side by side: Apache Kafka in three configurations, and the gateway."""

from __future__ import annotations

import base64
import re
import shutil
import subprocess
import uuid
from abc import abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, get_args

from compat_tests.broker import HOST, Broker, free_port, wait_until_it_answers
from compat_tests.java import KAFKA_JARS, run_java
from compat_tests.kafka_broker import LOGGING
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


LAST_WORDS_CHARACTERS = 1_500


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

    def last_words(self) -> str:
        """Return the end of what the server printed."""
        return self._process.output()[-LAST_WORDS_CHARACTERS:].strip() if self._process else ""

    @property
    def data_directory(self) -> Path:
        """The directory of the server's data."""
        return self.directory / "data"

    @abstractmethod
    def prepare(self) -> None:
        """Prepare the first start, untimed: choose a port, format the directory."""

    @abstractmethod
    def launch(self) -> None:
        """Execute the server and return at once."""

    def start(self) -> None:
        """Prepare the first time, launch, and wait for the first answer."""
        if not self.port:
            self.prepare()
        self.launch()
        wait_until_it_answers(self, within_seconds=120)


class KafkaServer(Server):
    """Apache Kafka: one KRaft node with 1 GB of heap and Kafka's defaults; no fsync unless asked for."""

    kind = "kafka"

    server_kind: ServerKind = "kafka"
    flags: tuple[str, ...] = KAFKA_FLAGS

    def prepare(self) -> None:
        """Write the properties and format the data directory."""
        self.directory.mkdir(parents=True)
        self.port = free_port()
        controller = f"{HOST}:{free_port()}"
        values = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"{self._listeners()},CONTROLLER://{controller}",
            "controller.quorum.bootstrap.servers": controller,
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.data_directory),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            **self.settings,
        }
        properties = self.directory / "server.properties"
        properties.write_text("".join(f"{key}={value}\n" for key, value in values.items()))
        (self.directory / "log4j2.properties").write_text(LOGGING)
        # "=": an id that begins with a dash would be taken for an option.
        cluster_id = f"--cluster-id={base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip('=')}"
        run_java("kafka.tools.StorageTool", "format", "--standalone", cluster_id, "--config", str(properties))

    def launch(self) -> None:
        """Execute the Java machine."""
        self._process = ServerProcess(
            self._command(self.flags), log_path=self.directory / "broker.log", environment={}
        )

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
        command = [KAWAL, "serve", "--listen", self._listeners(), "--data", str(self.data_directory)]
        # Its default port may be another gateway's, and nothing measured here asks for it.
        for key, value in {"kawal.console.listeners": "none", **self.settings}.items():
            command += ["--set", f"{key}={value}"]
        self._process = ServerProcess(command, log_path=self.directory / "broker.log", environment={})


CLASSES: dict[ServerKind, type[Server]] = {
    "kafka": KafkaServer,
    "kafka-fsync": SyncedKafkaServer,
    "kafka-lean": LeanKafkaServer,
    "kawal": KawalServer,
}


def new_server(kind: ServerKind, directory: Path, settings: Mapping[str, str] | None = None) -> Server:
    """Return a server, not started, that will keep everything below `directory`, which must not exist."""
    return CLASSES[kind](directory, settings or {})


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
