"""MirrorMaker 2 as a process, in its dedicated mode: one worker that copies one topic."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType

from compat_tests.broker import Broker
from compat_tests.java import KAFKA_JARS, java_command
from compat_tests.process import ServerProcess

PROPERTIES = """\
clusters = {alias}, west
{alias}.bootstrap.servers = {source}
west.bootstrap.servers = {target}
{alias}->west.enabled = true
{alias}->west.topics = {topic}
west->{alias}.enabled = false
replication.factor = 1
checkpoints.topic.replication.factor = 1
heartbeats.topic.replication.factor = 1
offset-syncs.topic.replication.factor = 1
offset.storage.replication.factor = 1
status.storage.replication.factor = 1
config.storage.replication.factor = 1
emit.heartbeats.enabled = false
refresh.topics.interval.seconds = 5
tasks.max = 4
{once}
"""

ONCE = """\
west.exactly.once.source.support = enabled
dedicated.mode.enable.internal.rest = true
listeners = http://127.0.0.1:0
"""

DEADLINE_SECONDS = 300.0


class MirrorMaker:
    """A worker that runs for the block."""

    def __init__(
        self,
        folder: Path,
        jars: Path,
        source: Broker,
        target: Broker,
        *,
        alias: str,
        topic: str,
        exactly_once: bool,
    ) -> None:
        (folder / "mm2.properties").write_text(
            PROPERTIES.format(
                alias=alias,
                source=source.bootstrap,
                target=target.bootstrap,
                topic=topic,
                once=ONCE if exactly_once else "",
            )
        )
        command = java_command(
            "org.apache.kafka.connect.mirror.MirrorMaker", str(folder / "mm2.properties"), heap="-Xmx1g"
        )
        # A worker that is to be compared must be compiled as well as Java can.
        command = [part for part in command if part != "-XX:TieredStopAtLevel=1"]
        command[command.index("-cp") + 1] = f"{KAFKA_JARS}/*:{jars}/*"
        self._process = ServerProcess(command, log_path=folder / "mm2.log", environment={})

    def __enter__(self) -> MirrorMaker:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._process.kill()

    def seconds_to_copy(self, records: int, count: Callable[[], int]) -> float:
        """Return the seconds from the first record that `count` sees to the last of `records`."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        first = 0.0
        while (there := count()) < records:
            assert self._process.exit_code is None, self._process.tail()
            assert time.monotonic() < deadline, f"{there:,} of {records:,} records: {self._process.tail()}"
            if there and not first:
                first = time.monotonic()
            time.sleep(0.05)
        return time.monotonic() - first
