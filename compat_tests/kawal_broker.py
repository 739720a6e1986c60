"""The gateway as the broker under test: started by its command, as a user would."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from compat_tests.broker import Broker, free_port
from compat_tests.process import ServerProcess

READY = "kawal ready "

SECRETS = ("jaas.config", "secret.key", "keystore.key", "certificate.chain", "truststore.certificates")
"""Ends of the keys whose values are secret."""

KAWAL = str(Path(sys.executable).with_name("kawal"))
"""The command installed beside the interpreter that runs the tests."""


class KawalBroker(Broker):
    """`kawal serve` with its defaults."""

    kind = "kawal"

    def start(self) -> None:
        """Start and wait for the ready line."""
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = self.port or free_port()
        command = [KAWAL, "serve", "--listen", self._listeners(), "--data", str(self.directory / "data")]
        if "kawal.http.listen" not in self.settings:
            # Many gateways run at once, and only one of them could have the default port.
            command += ["--http", "none"]
        if "kawal.console.listeners" not in self.settings:
            command += ["--set", "kawal.console.listeners=none"]
        secrets = {key: value for key, value in self.settings.items() if key.endswith(SECRETS)}
        if secrets:
            # Others can read command lines, so the gateway takes no secrets from them.
            file = self.directory / "kawal.toml"
            file.write_text(
                "".join(f"{json.dumps(key)} = {json.dumps(text)}\n" for key, text in secrets.items())
            )
            command += ["--config", str(file)]
        for key, value in self.settings.items():
            if key not in secrets:
                command += ["--set", f"{key}={value}"]
        self._process = ServerProcess(command, log_path=self.directory / "broker.log", environment={})
        self._process.wait_for_line(READY)
