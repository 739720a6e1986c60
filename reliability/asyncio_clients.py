"""aiokafka's clients under a rig, each with an event loop in a thread of its own."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from random import Random
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka import TopicPartition as AioPlace
from aiokafka.errors import KafkaError

from reliability.clients import (
    FAILURES_MAX,
    OUTSTANDING_MAX,
    PADDING,
    PARTITIONS,
    RECORD_KEYS,
    TOPICS,
    Actor,
    key_of,
)
from reliability.history import History

RETRY_SECONDS: Final = 0.1

# A server that is down is no news here, and it tells of it many times a second.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


class AsyncioWriter(Actor):
    """An idempotent producer of aiokafka with acks=all."""

    def __init__(self, name: str, bootstrap: str, history: History, seed: int, rate: float) -> None:
        super().__init__(name, bootstrap, history)
        self._random = Random(f"{name}-{seed}")
        self._pause = 1 / rate
        self._number = 0
        self._failures = 0

    def work(self) -> None:
        """Run the loop."""
        asyncio.run(self._work())

    async def _work(self) -> None:
        while not self.stopping.is_set():
            self._failures = 0
            await self._work_with_one()

    async def _work_with_one(self) -> None:
        """Send until told to stop, or until this producer only fails."""
        producer = AIOKafkaProducer(
            bootstrap_servers=self.bootstrap, enable_idempotence=True, acks="all", linger_ms=5,
            request_timeout_ms=5_000, retry_backoff_ms=50,
        )  # fmt: skip
        await until_started(self, producer)
        sends: set[asyncio.Task[None]] = set()
        while not self.stopping.is_set() and self._failures < FAILURES_MAX:
            if len(sends) < OUTSTANDING_MAX:
                await self._send(producer, self._number, sends)
                self._number += 1
            await asyncio.sleep(self._pause)
        if sends:
            await asyncio.wait(sends, timeout=60)
        with suppress(KafkaError):  # the sends themselves tell what became of them
            await producer.stop()

    async def _send(self, producer: Any, number: int, sends: set[asyncio.Task[None]]) -> None:
        """Hand a value to the producer, one after the other; a task waits for the outcome."""
        topic, partition = self._random.choice(TOPICS), self._random.randrange(PARTITIONS)
        record_key = f"k{self._random.randrange(RECORD_KEYS)}"
        value = f"{record_key}|{self.name}:{number}"
        padded = value + " " * self._random.randrange(PADDING)
        key = key_of(topic, partition)
        self.history.add(self.name, "send", "invoke", key=key, value=value)
        try:
            sent = await producer.send(topic, padded.encode(), record_key.encode(), partition)
        except KafkaError:
            self._failures += 1
            self.history.add(self.name, "send", "info", key=key, value=value)
            return
        task = asyncio.create_task(self._note(sent, key, value))
        sends.add(task)
        task.add_done_callback(sends.discard)

    async def _note(self, sent: asyncio.Future[Any], key: str, value: str) -> None:
        """Wait for the outcome of a send; one that is not known is noted as such."""
        try:
            found = await sent
        except KafkaError:
            self._failures += 1
            self.history.add(self.name, "send", "info", key=key, value=value)
        else:
            self._failures = 0
            self.history.add(self.name, "send", "ok", key=key, value=value, offset=found.offset)


class AsyncioReader(Actor):
    """A consumer of aiokafka by `assign`, from the beginning."""

    def work(self) -> None:
        """Run the loop."""
        asyncio.run(self._work())

    async def _work(self) -> None:
        consumer = AIOKafkaConsumer(
            bootstrap_servers=self.bootstrap, auto_offset_reset="earliest", enable_auto_commit=False,
            request_timeout_ms=5_000, retry_backoff_ms=50, isolation_level="read_committed",
        )  # fmt: skip
        await until_started(self, consumer)
        consumer.assign([AioPlace(topic, number) for topic in TOPICS for number in range(PARTITIONS)])
        self.history.add(self.name, "assign", "ok")
        while not self.stopping.is_set():
            found = await consumer.getmany(timeout_ms=200, max_records=500)
            records = tuple(
                (key_of(place.topic, place.partition), record.offset, record.value.decode().rstrip(" "))
                for place, batch in found.items()
                for record in batch
            )
            if records:
                self.history.add(self.name, "poll", "ok", records=records)
        await consumer.stop()


async def until_started(actor: Actor, client: Any) -> None:
    """Start a client, again and again as long as the server does not answer."""
    while True:
        try:
            await client.start()
            return
        except KafkaError:
            if actor.stopping.is_set():
                raise
            await asyncio.sleep(RETRY_SECONDS)
