"""Clients in other languages under a rig: the programs of compat_tests/clients, asked one thing at a time."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import Final

from compat_tests.clients.program import Program
from compat_tests.clients.registry import COMMANDS
from reliability.clients import PARTITIONS, RECORD_KEYS, TOPICS, Actor, key_of
from reliability.history import History

RECORDS: Final = 10
"""The records of one request; the program makes an idempotent producer for each."""


READ_AGAIN_SECONDS: Final = 0.2
"""The pause between two rounds over the partitions."""


class ProgramReader(Actor):
    """A consumer of another language, by `assign`, of committed records."""

    def __init__(self, client: str, bootstrap: str, history: History, directory: Path) -> None:
        """Prepare the program of this client; its log goes to `directory`."""
        super().__init__(f"{client}-reader", bootstrap, history)
        self._command = COMMANDS[client]
        self._log = directory / f"{client}-reader.log"
        self._next = {(topic, number): 0 for topic in TOPICS for number in range(PARTITIONS)}
        self._answered = False
        self._problem = ""

    def work(self) -> None:
        """Read until told to stop."""
        program = Program(self.name, self._command, self._log)
        try:
            self.history.add(self.name, "assign", "ok")
            while not self.stopping.is_set():
                for topic, number in self._next:
                    if not self.stopping.is_set():
                        self._read(program, topic, number)
                self.stopping.wait(READ_AGAIN_SECONDS)
        finally:
            program.close()
        if self._problem and not self._answered:
            raise AssertionError(f"{self.name} could read nothing: {self._problem}")

    def _read(self, program: Program, topic: str, number: int) -> None:
        """Read a partition to its end; one whose log start has moved on is read from there the next time."""
        start = self._next[topic, number]
        place = {"bootstrap": self.bootstrap, "topic": topic, "partition": number}
        try:
            found = program.ask("consume", **place, offset=start, count=None, isolation="read_committed")
        except AssertionError as error:
            self._problem = str(error)
            if "OffsetOutOfRange" in self._problem:
                self._begin_again(program, topic, number)
            return
        self._answered = True
        records = tuple(
            (key_of(topic, number), record["offset"], record["value"].rstrip(" "))
            for record in found["records"]
        )
        if records:
            self.history.add(self.name, "poll", "ok", records=records)
            self._next[topic, number] = records[-1][1] + 1

    def _begin_again(self, program: Program, topic: str, number: int) -> None:
        place = {"bootstrap": self.bootstrap, "topic": topic, "partition": number}
        try:
            earliest = program.ask("list_offsets", **place)["earliest"]
        except AssertionError as error:
            self._problem = str(error)
            return
        self._next[topic, number] = max(self._next[topic, number], earliest)


class ProgramWriter(Actor):
    """A producer of another language, with acks=all and idempotence."""

    def __init__(self, client: str, bootstrap: str, history: History, seed: int, directory: Path) -> None:
        """Prepare the program of this client; its log goes to `directory`."""
        super().__init__(f"{client}-writer", bootstrap, history)
        self._random = Random(f"{client}-{seed}")
        self._command = COMMANDS[client]
        self._log = directory / f"{client}.log"
        self._answered = False
        self._problem = ""

    def work(self) -> None:
        """Send until told to stop."""
        program = Program(self.name, self._command, self._log)
        number = 0
        try:
            while not self.stopping.is_set():
                self._send(program, number)
                number += RECORDS
        finally:
            program.close()
        if self._problem and not self._answered:
            raise AssertionError(f"{self.name} could write nothing: {self._problem}")

    def _send(self, program: Program, number: int) -> None:
        """Send some values to one partition; without an answer, what became of them is not known."""
        topic, partition = self._random.choice(TOPICS), self._random.randrange(PARTITIONS)
        key = key_of(topic, partition)
        record_keys = [f"k{self._random.randrange(RECORD_KEYS)}" for _ in range(RECORDS)]
        values = [f"{record_key}|{self.name}:{number + i}" for i, record_key in enumerate(record_keys)]
        for value in values:
            self.history.add(self.name, "send", "invoke", key=key, value=value)
        records: list[dict[str, object]] = [
            {"key": record_key, "value": value, "headers": [], "timestamp": time.time_ns() // 1_000_000}
            for record_key, value in zip(record_keys, values, strict=True)
        ]
        try:
            found = program.ask(
                "produce", bootstrap=self.bootstrap, topic=topic, partition=partition, codec="none",
                acks="all", idempotent=True, records=records,
            )  # fmt: skip
        except AssertionError as error:
            self._problem = str(error)
            for value in values:
                self.history.add(self.name, "send", "info", key=key, value=value)
            return
        self._answered = True
        for value, offset in zip(values, found["offsets"], strict=True):
            self.history.add(self.name, "send", "ok", key=key, value=value, offset=offset)
