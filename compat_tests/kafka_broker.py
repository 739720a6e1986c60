"""Apache Kafka 4.3.1 as the broker under test: one KRaft node from the jars of kafka-pom.xml."""

from __future__ import annotations

import base64
import subprocess
import uuid
from collections.abc import Mapping
from pathlib import Path

from compat_tests.broker import HOST, Broker, free_port, wait_until_it_answers
from compat_tests.java import java_command
from compat_tests.process import ServerProcess
from compat_tests.topics import wait_until_all_is_served

HEAP = "-Xmx512m"

TOKEN_KEYS = "sasl.oauthbearer.jwks.endpoint.url"
ALLOWED_URLS = "org.apache.kafka.sasl.oauthbearer.allowed.urls"

LOGGING = """\
status = error
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %m (%c{1})%n%throwable
rootLogger.level = warn
rootLogger.appenderRef.console.ref = console
"""


def server_properties(
    directory: Path, listeners: str, controller_port: int, settings: Mapping[str, str]
) -> str:
    """Return the text of a file of properties for one node that is broker and controller."""
    values = {
        "process.roles": "broker,controller",
        "node.id": "1",
        "listeners": f"{listeners},CONTROLLER://{HOST}:{controller_port}",
        "advertised.listeners": listeners,
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": f"1@{HOST}:{controller_port}",
        "log.dirs": str(directory / "data"),
        "num.partitions": "4",
        "offsets.topic.replication.factor": "1",
        "transaction.state.log.replication.factor": "1",
        "transaction.state.log.min.isr": "1",
        "share.coordinator.state.topic.replication.factor": "1",
        "share.coordinator.state.topic.min.isr": "1",
        "group.initial.rebalance.delay.ms": "0",
        # A killed broker may register again only when its session has ended, by default after 9 s.
        "broker.heartbeat.interval.ms": "500",
        "broker.session.timeout.ms": "3000",
        "log.initial.task.delay.ms": "200",
        "log.cleaner.dedupe.buffer.size": "8000000",
        **settings,
    }
    if protocols := values.get("listener.security.protocol.map"):
        values["listener.security.protocol.map"] = f"{protocols},CONTROLLER:PLAINTEXT"
    lines = (f"{key}={value}" for key, value in values.items())
    # A backslash in a file of properties escapes what follows it.
    return "".join(line.replace("\\", "\\\\") + "\n" for line in lines)


class KafkaBroker(Broker):
    """One combined broker and controller: Kafka's defaults, single replicas, 4 partitions for new topics."""

    kind = "kafka"
    _controller_port: int

    def start(self) -> None:
        """Format the data directory the first time, start, and wait until every partition is served."""
        properties = self.directory / "server.properties"
        first = not self.port
        if first:
            self.directory.mkdir(parents=True, exist_ok=True)
            self.port, self._controller_port = free_port(), free_port()
        properties.write_text(self._properties())
        (self.directory / "log4j2.properties").write_text(LOGGING)
        if first:
            self._format()
        self._process = ServerProcess(
            java_command(
                "kafka.Kafka", str(properties), heap=HEAP, logging=self.directory / "log4j2.properties"
            ),
            log_path=self.directory / "broker.log",
            environment=self._environment(),
        )
        wait_until_it_answers(self, within_seconds=60)
        wait_until_all_is_served(self)

    def _environment(self) -> dict[str, str]:
        """Let Kafka read the keys of tokens, whose address must be in a property of Java since 4.0.0."""
        url = self.settings.get(TOKEN_KEYS)
        return {"JAVA_TOOL_OPTIONS": f"-D{ALLOWED_URLS}={url}"} if url else {}

    def _properties(self) -> str:
        return server_properties(self.directory, self._listeners(), self._controller_port, self.settings)

    def _cluster_id(self) -> str:
        """Return the id of the cluster that is made."""
        return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")

    def _format(self) -> None:
        command = java_command(
            "kafka.tools.StorageTool",
            "format",
            # One in 64 begins with a dash, which "-t" would take for an option.
            f"--cluster-id={self._cluster_id()}",
            "-c",
            str(self.directory / "server.properties"),
        )
        result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert result.returncode == 0, f"kafka storage format failed:\n{result.stdout}{result.stderr}"
