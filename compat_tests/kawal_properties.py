"""The gateway as the broker under test, started by the file that Apache Kafka would get."""

from __future__ import annotations

from compat_tests.broker import free_port
from compat_tests.kafka_broker import server_properties
from compat_tests.kawal_broker import KAWAL, READY, KawalBroker
from compat_tests.process import ServerProcess


class KawalByProperties(KawalBroker):
    """`kawal serve --config server.properties`, with the file that Kafka would get."""

    def start(self) -> None:
        """Write the file, start, and wait for the ready line."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port()
        path = self.directory / "server.properties"
        path.write_text(server_properties(self.directory, self._listeners(), free_port(), self.settings))
        command = [KAWAL, "serve", "--config", str(path), "--http", "none"]
        command += ["--set", "kawal.console.listeners=none"]
        self._process = ServerProcess(command, log_path=self.directory / "broker.log", environment={})
        self._process.wait_for_line(READY)
